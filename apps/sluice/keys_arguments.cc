#include "keys_arguments.h"

#include <cstdint>
#include <string>

#include <sluice/limit.h>

#include "base/duration.h"
#include "base/timestamp.h"
#include "remote_arguments.h"

namespace sluice::app {
namespace {

using RunKeys = int (*)(const KeysOptions& options);

CLI::App* AddKeysCommand(CLI::App& app, std::function<int()>& action, KeysOptions& options,
                         const char* name, const char* text, RunKeys run) {
  CLI::App* const command = app.add_subcommand(name, text);
  AddRemote(*command, options.remote);
  command->callback(
      [&action, &options, run] { action = [&options, run] { return run(options); }; });
  return command;
}

void AddRule(CLI::App& command, KeysOptions& options) {
  command.add_option("--rule", options.rule, "Only this rule")->type_name("ID");
}

void AddExpiry(CLI::App& command, KeysOptions& options) {
  CLI::Option* const lifetime = command.add_option_function<std::string>(
      "--for",
      [&options](const std::string& text) {
        options.lifetime = ParseDuration(text);
        if (!options.lifetime) throw CLI::ValidationError("--for", "expected a time such as 24h");
      },
      "How long it lasts; without it and --until: until it is spent");
  lifetime->type_name("TIME");
  command
      .add_option_function<std::string>(
          "--until",
          [&options](const std::string& text) {
            options.expires_at = ParseTimestamp(text);
            if (!options.expires_at) {
              throw CLI::ValidationError("--until", "expected a time such as 2026-12-01T00:00:00Z");
            }
          },
          "When it expires")
      ->type_name("TIME")
      ->excludes(lifetime);
}

}  // namespace

void AddKeys(CLI::App& app, std::function<int()>& action, KeysOptions& options) {
  CLI::App* const key = AddKeysCommand(app, action, options, "key",
                                       "Show the limits of a caller, or list keys", ShowKey);
  key->footer(
      "Examples:\n  sluice key api_key=sk_prod_7 endpoint=/search\n  sluice key --list --rule api "
      "--prefix sk_");
  CLI::Option* const caller = AddAttributes(*key, options.attributes);
  CLI::Option* const list = key->add_flag("--list", options.list, "List keys instead");
  list->excludes(caller);
  AddRule(*key, options);
  key->add_option("--prefix", options.prefix, "With --list: keys that begin with this text")
      ->type_name("TEXT");
  key->parse_complete_callback([caller, list] {
    if (caller->count() == 0 && list->count() == 0) throw CLI::RequiredError("ATTRIBUTE");
  });

  CLI::App* const grant =
      AddKeysCommand(app, action, options, "grant", "Grant extra units to a caller", GrantToKey);
  grant->footer("Example:\n  sluice grant api_key=sk_prod_7 --amount 1000 --for 24h");
  AddAttributes(*grant, options.attributes)->required();
  grant->add_option("--amount", options.amount, "How much")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, kMaxAmount).description(""));
  AddRule(*grant, options);
  AddExpiry(*grant, options);

  CLI::App* const reset = AddKeysCommand(app, action, options, "reset",
                                         "Reset all keys that a selector matches", ResetKeys);
  reset->footer(
      "Exit codes: 0 done, 1 error, canceled or failed.\n\n"
      "Example:\n  sluice reset --rule api --prefix sk_test_ --dry-run");
  AddRule(*reset, options);
  reset->add_option("--prefix", options.prefix, "Keys that begin with this text")
      ->type_name("TEXT");
  reset->add_option("--match", options.pattern, "Keys that match this glob, as 'sk_*_7'")
      ->type_name("GLOB");
  reset->add_flag("--all", options.all, "All keys");
  reset->add_flag("--dry-run", options.dry_run, "Count the keys and show some; change nothing");
  reset->add_flag("--detach", options.detach, "Don't wait for the end");
  reset->add_option("--max-keys", options.max_keys, "Fail if more keys match")->type_name("N");
}

}  // namespace sluice::app
