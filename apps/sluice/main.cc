// The binary `sluice`: what its arguments mean. The commands have files of their own.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <sluice/limit.h>

#include "check_config.h"
#include "demo.h"
#include "explain_command.h"
#include "import_envoy.h"
#include "serve_command.h"
#include "server/config.h"
#include "simulate_command.h"

namespace {

using namespace sluice::app;  // NOLINT(google-build-using-namespace): this is its main file.

constexpr int kUsageError = 2;

// What is to be run once the arguments are read.
using Action = std::function<int()>;

// The names of all commands begin in one column, their texts in another.
class Formatter final : public CLI::Formatter {
 public:
  Formatter() {
    column_width(34);
    label("REQUIRED", "(required)");
  }
};

void AddDemo(CLI::App& app, Action& action) {
  CLI::App* const command = app.add_subcommand(
      "demo", "Show how each algorithm answers a few calls, on a clock of its own");
  command->footer("Example:\n  sluice demo");
  command->callback([&action] { action = Demo; });
}

void AddCheckConfig(CLI::App& app, Action& action, CheckConfigOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "check-config", "Tell everything that is wrong with rule files; exit 1 if something is");
  command->footer("Example:\n  sluice check-config rules.yaml");
  command->add_option("FILE", options.files, "Rule files")->required();
  command->add_flag("--json", options.json, "Print JSON");
  command->callback([&action, &options] { action = [&options] { return CheckConfig(options); }; });
}

void AddExplain(CLI::App& app, Action& action, ExplainOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "explain", "Show which lists and rules a call meets, and why not the others");
  command->footer(
      "Example:\n  sluice explain --rules rules.yaml --attr api_key=sk_prod_1 --attr "
      "endpoint=/v1/orders/7");
  command->add_option("--rules", options.rules, "The rule file")->required()->type_name("FILE");
  const auto add_attribute = [&options](const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw CLI::ValidationError("--attr", "expected name=value, found '" + text + "'");
    }
    options.attributes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  };
  command
      ->add_option_function<std::vector<std::string>>(
          "--attr",
          [add_attribute](const std::vector<std::string>& texts) {
            std::for_each(texts.begin(), texts.end(), add_attribute);
          },
          "An attribute of the call; once for each")
      ->type_name("NAME=VALUE")
      ->type_size(1)
      ->expected(-1)
      ->allow_extra_args(false);
  command->add_option("--cost", options.cost, "What the call costs")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, sluice::kMaxAmount).description(""));
  command->add_flag("--json", options.json, "Print JSON");
  command->callback([&action, &options] { action = [&options] { return ExplainCall(options); }; });
}

void AddImportEnvoy(CLI::App& app, Action& action, ImportEnvoyOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "import-envoy", "Print the configuration of Envoy's rate limit service as a rule file");
  command->footer("Example:\n  sluice import-envoy /etc/ratelimit/config > rules.yaml");
  command->add_option("DIR", options.directory, "Where its files are")->required();
  command->add_flag("--merge-domains", options.merge_domains,
                    "Several files may describe one domain");
  command->callback([&action, &options] { action = [&options] { return ImportEnvoy(options); }; });
}

// In seconds on the command line.
void AddTolerance(CLI::App& command, SimulateOptions& options) {
  command
      .add_option_function<double>(
          "--tolerance",
          [&options](double seconds) {
            options.tolerance =
                std::chrono::duration_cast<sluice::Micros>(std::chrono::duration<double>(seconds));
          },
          "How far a row may go back in time, in seconds; it is judged at the time of the one "
          "before [1]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9).description(""));
}

void AddSimulate(CLI::App& app, Action& action, SimulateOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "simulate", "Replay a trace of calls through rules, and tell what they would have done");
  command->footer(
      "The trace is CSV (the first row names the columns) or JSON lines; `time`, `cost` and "
      "`duration`\nare special, everything else is an attribute.\n\n"
      "Example:\n  sluice simulate --rules new.yaml --against today.yaml --traffic calls.csv");
  command->add_option("--rules", options.rules, "The rule file")->required()->type_name("FILE");
  command->add_option("--traffic", options.traffic, "The trace; - is standard input")
      ->required()
      ->type_name("TRACE");
  command
      ->add_option("--against", options.against,
                   "The rule file in force today: tell the difference")
      ->type_name("FILE");
  command->add_option("--top", options.top, "How many of the keys denied most to tell")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--examples", options.examples,
                   "How many calls to tell of each kind of difference")
      ->type_name("N")
      ->capture_default_str();
  static const std::map<std::string, TimeUnit> kUnits{{"auto", TimeUnit::kByMagnitude},
                                                      {"s", TimeUnit::kSeconds},
                                                      {"ms", TimeUnit::kMillis},
                                                      {"us", TimeUnit::kMicros},
                                                      {"ns", TimeUnit::kNanos}};
  command
      ->add_option("--time-unit", options.unit,
                   "What numbers mean as a time: s, ms, us, ns; auto goes by their size [auto]")
      ->type_name("UNIT")
      ->transform(CLI::CheckedTransformer(kUnits).description(""));
  AddTolerance(*command, options);
  command->add_option("--max-keys", options.max_keys, "Most keys to hold")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", options.json, "Print JSON");
  const auto add_progress = [&](const char* flag, ShowProgress progress, const char* text) {
    command->add_flag_callback(flag, [&options, progress] { options.progress = progress; }, text);
  };
  add_progress("--progress", ShowProgress::kAlways, "Show how far it is, also if nobody looks");
  add_progress("--no-progress", ShowProgress::kNever, "Don't show it on a terminal, either");
  command->callback([&action, &options] { action = [&options] { return Simulate(options); }; });
}

void AddServe(CLI::App& app, Action& action, ServeOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "serve", "Run the server: HTTP, the Redis protocol and gRPC (the default)");
  command->footer(
      "Every setting can also stand in the file, and in the environment as SLUICE_…; flags win.\n\n"
      "Example:\n  sluice serve --rules rules.yaml --http :8080 --store redis://127.0.0.1:6379");
  command->add_option("--config", options.config, "A file with settings")->type_name("FILE");
  for (const sluice::server::Setting& setting : sluice::server::Settings()) {
    std::string names = setting.flag();
    if (!setting.also.empty()) names += ",--" + std::string(setting.also);
    const std::string name(setting.name);
    command
        ->add_option_function<std::string>(
            names,
            [&options, name](const std::string& text) {
              options.settings.emplace_back(name, text);
            },
            std::string(setting.meaning))
        ->type_name(std::string(setting.value));
  }
  command->add_flag("--print-config", options.print_config,
                    "Print the settings as they would be, and exit");
  command->callback([&action, &options] { action = [&options] { return Serve(options); }; });
}

// The first argument, if it is neither an option nor the name of a command.
std::string UnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') return {};
  const auto commands =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == argv[1]; });
  return commands.empty() ? argv[1] : "";
}

int Refuse(const std::string& message, const std::string& command) {
  std::fprintf(stderr, "sluice: %s; see sluice %s--help\n", message.c_str(),
               command.empty() ? "" : (command + ' ').c_str());
  return kUsageError;
}

int Run(int argc, char** argv) {
  CLI::App app("Sluice " SLUICE_VERSION ", a rate limiter", "sluice");
  app.formatter(std::make_shared<Formatter>());
  app.set_version_flag("--version", "sluice " SLUICE_VERSION, "Print the version and exit");
  app.require_subcommand(0, 1);
  app.footer("Each command tells more: sluice simulate --help");
  ServeOptions serve;
  Action action = [&serve] { return Serve(serve); };
  CheckConfigOptions check_config;
  ExplainOptions explain;
  SimulateOptions simulate;
  ImportEnvoyOptions import_envoy;
  AddServe(app, action, serve);
  AddDemo(app, action);
  AddCheckConfig(app, action, check_config);
  AddExplain(app, action, explain);
  AddSimulate(app, action, simulate);
  AddImportEnvoy(app, action, import_envoy);
  if (const std::string name = UnknownCommand(app, argc, argv); !name.empty()) {
    return Refuse("unknown command '" + name + "'", "");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // Help or the version.
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    const auto commands = app.get_subcommands();
    const std::string command = commands.empty() ? "" : commands.front()->get_name();
    const std::vector<std::string> extra = app.remaining(true);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extra.empty()) {
      return Refuse("unexpected argument '" + extra.front() + "'", command);
    }
    return Refuse(error.what(), command);
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  const int result = Run(argc, argv);
  // A full disk or a closed pipe must not look like success.
  return std::fflush(stdout) == 0 ? result : 1;
}
