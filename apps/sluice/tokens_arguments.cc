#include "tokens_arguments.h"

#include "base/duration.h"
#include "remote_arguments.h"

namespace sluice::app {
namespace {

CLI::App& AddMember(CLI::App& tokens, std::function<int()>& action, TokensOptions& options,
                    const char* name, const char* text, int (*run)(const TokensOptions&)) {
  CLI::App* const command = tokens.add_subcommand(name, text);
  AddRemote(*command, options.remote);
  command->callback(
      [&action, &options, run] { action = [&options, run] { return run(options); }; });
  return *command;
}

}  // namespace

void AddTokens(CLI::App& app, std::function<int()>& action, TokensOptions& options) {
  CLI::App* const tokens =
      app.add_subcommand("tokens", "List, create and revoke tokens of the admin API");
  tokens->require_subcommand(1);
  tokens->footer("Example:\n  sluice tokens create --name ci --role editor --scope team-a/");
  AddMember(*tokens, action, options, "list", "Print all tokens, without their secrets",
            ListTokens);
  CLI::App& create = AddMember(*tokens, action, options, "create",
                               "Create a token and print it, once", CreateToken);
  create.add_option("--name", options.name, "Its name, for people and the audit log")
      ->required()
      ->type_name("TEXT");
  create.add_option("--role", options.role, "checker, viewer, operator, editor or admin")
      ->required()
      ->type_name("ROLE");
  create.add_option("--scope", options.scope, "Rules that it may change: those that begin so")
      ->type_name("PREFIX");
  create
      .add_option_function<std::string>(
          "--expires",
          [&options](const std::string& text) {
            options.never_expires = text == "never";
            if (options.never_expires) return;
            options.lifetime = ParseDuration(text);
            if (!options.lifetime) {
              throw CLI::ValidationError("--expires", "expected a time such as 30d, or never");
            }
          },
          "When, as 30d, or never; default: 90d")
      ->type_name("TIME");
  AddMember(*tokens, action, options, "revoke", "Revoke a token on all nodes", RevokeToken)
      .add_option("ID", options.id, "Its id")
      ->required();
}

}  // namespace sluice::app
