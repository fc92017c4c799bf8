#include "entries_arguments.h"

#include "base/duration.h"
#include "remote_arguments.h"

namespace sluice::app {
namespace {

using Run = int (*)(const EntriesOptions& options);

CLI::App* AddCommand(CLI::App& parent, std::function<int()>& action, EntriesOptions& options,
                     const char* name, const char* text, Run run) {
  CLI::App* const command = parent.add_subcommand(name, text);
  AddRemote(*command, options.remote);
  command->callback(
      [&action, &options, run] { action = [&options, run] { return run(options); }; });
  return command;
}

void AddChange(CLI::App& command, EntriesOptions& options, bool has_dry_run) {
  if (has_dry_run) {
    command.add_flag("--dry-run", options.dry_run, "Check it and print its impact; change nothing");
  }
  AddWait(command, options.wait);
}

}  // namespace

void AddEntries(CLI::App& app, std::function<int()>& action, EntriesOptions& options) {
  CLI::App* const entries =
      app.add_subcommand("entries", "Read and change the live entries of running servers");
  entries->require_subcommand(1);
  entries->footer(
      "Exit codes: 0 success, 1 error, 2 no such entry.\n\n"
      "Example:\n  sluice entries put vip '{\"match\": {\"api_key\": \"sk_1\"}, \"effect\": "
      "{\"multiply\": 2}, \"expires_in\": \"2h\"}'");
  CLI::App* const list =
      AddCommand(*entries, action, options, "list", "List the entries in force", ListEntries);
  list->add_option("--match", options.match, "Only those with this name=value, or part of a value")
      ->type_name("TEXT");
  list->add_option("--effect", options.effect, "Only those with this effect, such as block")
      ->type_name("EFFECT");
  const auto add_id = [&options](CLI::App& command) {
    command.add_option("ID", options.id, "The entry's id")->required();
  };
  add_id(*AddCommand(*entries, action, options, "get", "Print one entry", GetEntry));
  CLI::App* const put =
      AddCommand(*entries, action, options, "put", "Create or replace one entry", PutEntry);
  add_id(*put);
  put->add_option("ENTRY", options.text, "The entry as JSON, @FILE, or - for standard input")
      ->required();
  AddChange(*put, options, true);
  CLI::App* const remove =
      AddCommand(*entries, action, options, "delete", "Remove one entry", DeleteEntry);
  add_id(*remove);
  AddChange(*remove, options, true);
  CLI::App* const import_file =
      AddCommand(*entries, action, options, "import",
                 "Create or replace the entries of a file, all or none", ImportEntries);
  import_file
      ->add_option("FILE", options.text, "What entries list --json prints; - is standard input")
      ->required();
  AddChange(*import_file, options, true);

  CLI::App* const block =
      AddCommand(app, action, options, "block", "Block a caller on all servers", BlockCaller);
  block->footer("Example:\n  sluice block api_key=sk_prod_7 --for 2h --reason 'ticket 4711'");
  AddAttributes(*block, options.attributes)->required();
  CLI::Option* const lifetime =
      block->add_option("--for", options.lifetime, "How long; a day without it")->type_name("TIME");
  block->add_flag("--forever", options.forever, "Until it is removed")->excludes(lifetime);
  block->add_option("--rule", options.rule, "Only calls that match this rule")->type_name("ID");
  block->add_option("--status", options.status, "Of the response: 403 (default) or 429")
      ->type_name("STATUS")
      ->check(CLI::IsMember({403, 429}));
  block->add_option("--reason", options.reason, "For people; callers don't see it")
      ->type_name("TEXT");
  AddChange(*block, options, true);
  CLI::App* const unblock =
      AddCommand(app, action, options, "unblock", "Remove the block of a caller", UnblockCaller);
  unblock->footer("Exit codes: 0 success, 1 error, 2 there was no such block.");
  AddAttributes(*unblock, options.attributes)->required();
  AddChange(*unblock, options, false);
}

}  // namespace sluice::app
