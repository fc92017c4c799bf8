#include "remote_arguments.h"

namespace sluice::app {

void AddRemote(CLI::App& command, RemoteOptions& options) {
  command.add_option("--server", options.server, "The server")
      ->type_name("URL")
      ->envname("SLUICE_SERVER")
      ->capture_default_str();
  command
      .add_option("--token-file", options.token_file,
                  "A file with the admin token; otherwise SLUICE_ADMIN_TOKEN is used")
      ->type_name("FILE");
  command
      .add_option("--ca-file", options.ca_file, "Certificates to trust, instead of the system's")
      ->type_name("FILE");
  CLI::Option* const certificate =
      command.add_option("--cert", options.certificate_file, "A client certificate")
          ->type_name("FILE");
  CLI::Option* const key =
      command.add_option("--key", options.key_file, "Its private key")->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
  command.add_flag("--plaintext-token", options.plaintext_token,
                   "Send the token over http to other machines, too");
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace sluice::app
