#include "rules_arguments.h"

#include "remote_arguments.h"

namespace sluice::app {
namespace {

struct Flags {
  bool file = false;
  bool version = false;
  bool change = false;  // A message, a wait.
  bool apply = false;   // What only a new document needs.
};

void AddMember(CLI::App& rules, std::function<int()>& action, RulesOptions& options,
               const char* name, const char* text, int (*run)(const RulesOptions&),
               const Flags& flags) {
  CLI::App* const command = rules.add_subcommand(name, text);
  if (flags.file) {
    command->add_option("FILE", options.file, "The rule file; - is standard input")->required();
  }
  if (flags.version) {
    command->add_option("VERSION", options.version, "The version, as 1.7 or 7")->required();
  }
  if (flags.apply) {
    command->add_flag("--dry-run", options.dry_run, "Print the changes, and change nothing");
    command->add_flag("--force", options.force,
                      "Commit although the guard refuses it; needs --message");
    command
        ->add_option("--if-match", options.if_match,
                     "The entity tag of the version that the file replaces; otherwise the current")
        ->type_name("ETAG");
  }
  if (flags.change) {
    command->add_option("--message", options.message, "The reason, for the history")
        ->type_name("TEXT");
    AddWait(*command, options.wait);
  }
  AddRemote(*command, options.remote);
  command->callback(
      [&action, &options, run] { action = [&options, run] { return run(options); }; });
}

}  // namespace

void AddRules(CLI::App& app, std::function<int()>& action, RulesOptions& options) {
  CLI::App* const rules =
      app.add_subcommand("rules", "Read and change the rules of running servers");
  rules->require_subcommand(1);
  rules->footer(
      "Exit codes: 0 success (diff: no difference), 1 error, 2 the rules differ.\n\n"
      "Example:\n  sluice rules apply rules.yaml --message 'raise the limit of tier pro' --wait "
      "2s");
  AddMember(*rules, action, options, "get", "Print the current rules", GetRules, {});
  AddMember(*rules, action, options, "diff", "Compare a file with the current rules", DiffRules,
            {.file = true});
  AddMember(*rules, action, options, "apply", "Commit a file as the new version", ApplyRules,
            {.file = true, .change = true, .apply = true});
  AddMember(*rules, action, options, "history", "List the versions", ShowRulesHistory, {});
  AddMember(*rules, action, options, "show", "Print the text of a version", ShowRulesVersion,
            {.version = true});
  AddMember(*rules, action, options, "restore", "Commit the text of an earlier version again",
            RestoreRules, {.version = true, .change = true});
  AddMember(*rules, action, options, "nodes", "List the nodes and their versions", ShowNodes, {});
}

}  // namespace sluice::app
