#include "remote_arguments.h"

#include <string>

#include "base/duration.h"

namespace sluice::app {

void AddRemote(CLI::App& command, RemoteOptions& options) {
  command.add_option("--server", options.server, "The server; unix:/path is its socket")
      ->type_name("URL")
      ->envname("SLUICE_SERVER")
      ->capture_default_str();
  command
      .add_option("--token-file", options.token_file,
                  "A file with the admin token; otherwise SLUICE_ADMIN_TOKEN is used")
      ->type_name("FILE");
  AddTlsFiles(command, options);
  command.add_flag("--plaintext-token", options.plaintext_token,
                   "Send the token over http to other machines, too");
  command.add_flag("--json", options.json, "Print JSON");
}

void AddTlsFiles(CLI::App& command, RemoteOptions& options) {
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
}

CLI::Option* AddAttributes(CLI::App& command,
                           std::vector<std::pair<std::string, std::string>>& attributes) {
  return command
      .add_option_function<std::vector<std::string>>(
          "ATTRIBUTE",
          [&attributes](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const std::size_t equals = text.find('=');
              if (equals == std::string::npos || equals == 0) {
                throw CLI::ValidationError("ATTRIBUTE",
                                           "expected name=value, found '" + text + "'");
              }
              attributes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
            }
          },
          "An attribute of the caller, as api_key=sk_1; ip may be a network")
      ->type_name("NAME=VALUE")
      ->expected(-1);
}

void AddWait(CLI::App& command, std::optional<Micros>& wait) {
  command
      .add_option_function<std::string>(
          "--wait",
          [&wait](const std::string& duration) {
            wait = ParseDuration(duration);
            if (!wait) throw CLI::ValidationError("--wait", "expected a time such as 2s");
          },
          "Wait so long for all nodes to apply it, as 2s")
      ->type_name("TIME");
}

}  // namespace sluice::app
