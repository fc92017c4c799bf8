#include "insight_arguments.h"

#include "remote_arguments.h"

namespace sluice::app {

void AddTop(CLI::App& app, std::function<int()>& action, TopOptions& options) {
  CLI::App* const command = app.add_subcommand("top", "List the largest consumers of a server");
  command->footer("Example:\n  sluice top --by denied --window 1m --limit 5");
  command
      ->add_option("--by", options.by,
                   "What they are compared by: denied, allowed, cost or utilization")
      ->type_name("WHAT")
      ->capture_default_str();
  command->add_option("--window", options.window, "The time until now: 1m, 10m or 1h")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_option("--rule", options.rule, "Only consumers of this rule")->type_name("ID");
  command->add_option("--limit", options.limit, "How many to list")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--cluster", options.cluster, "Of all servers of the fleet together");
  AddRemote(*command, options.remote);
  command->callback([&action, &options] { action = [&options] { return ShowTop(options); }; });
}

void AddTail(CLI::App& app, std::function<int()>& action, TailOptions& options) {
  CLI::App* const command =
      app.add_subcommand("tail", "Print the denials of a server, and new ones as they happen");
  command->footer("Example:\n  sluice tail --rule search --last 20");
  command->add_option("--rule", options.rule, "Only denials by this rule")->type_name("ID");
  command->add_option("--caller", options.key, "Only denials of this key")->type_name("KEY");
  command->add_option("--last", options.last, "How many earlier denials to print first")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--no-follow", options.no_follow, "Print earlier denials only");
  AddRemote(*command, options.remote);
  command->callback([&action, &options] { action = [&options] { return TailDenials(options); }; });
}

void AddWhy(CLI::App& app, std::function<int()>& action, WhyOptions& options) {
  CLI::App* const command =
      app.add_subcommand("why", "Explain a denial by the id that the client received");
  command->footer("Example:\n  sluice why 3q2-7wAAAA…");
  command->add_option("ID", options.id, "The id: 64 characters")->required();
  AddRemote(*command, options.remote);
  command->callback(
      [&action, &options] { action = [&options] { return ExplainDenial(options); }; });
}

}  // namespace sluice::app
