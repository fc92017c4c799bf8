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

#include "base/duration.h"
#include "base/parse_number.h"
#include "base/timestamp.h"
#include "check_config.h"
#include "command_documents.h"
#include "config_text/suggestion.h"
#include "convert_log_command.h"
#include "demo.h"
#include "entries_arguments.h"
#include "explain_command.h"
#include "healthcheck_command.h"
#include "import_envoy.h"
#include "insight_arguments.h"
#include "keys_arguments.h"
#include "remote_arguments.h"
#include "rules_arguments.h"
#include "serve_command.h"
#include "settings/setting.h"
#include "simulate_command.h"
#include "tokens_arguments.h"

namespace {

using namespace sluice::app;  // NOLINT(google-build-using-namespace): this is its main file.
using sluice::simulate::TimeUnit;

constexpr int kUsageError = 2;
// 2 means that rules differ, or that there is no such entry; Docker reserves it for probes.
constexpr int kRemoteUsageError = 1;

// The command to run once the arguments are parsed.
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
      "check-config", "Report all errors in rule files; exit 1 if there are any");
  command->footer("Example:\n  sluice check-config rules.yaml");
  command->add_option("FILE", options.files, "Rule files")->required();
  command->add_flag("--json", options.json, "Print JSON");
  command->callback([&action, &options] { action = [&options] { return CheckConfig(options); }; });
}

void AddExplain(CLI::App& app, Action& action, ExplainOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "explain", "Show which lists and rules match a call, and why the others don't");
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
  command
      ->add_option_function<std::vector<std::string>>(
          "--use",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const std::size_t equals = text.find('=');
              const auto amount = equals == std::string::npos
                                      ? std::optional<std::int64_t>()
                                      : sluice::ParseNumber<std::int64_t>(text.substr(equals + 1));
              if (!amount || *amount < 0 || *amount > sluice::kMaxAmount) {
                throw CLI::ValidationError(
                    "--use", "expected a quantity such as output_tokens=700, found '" + text + "'");
              }
              options.use.emplace_back(text.substr(0, equals), *amount);
            }
          },
          "A quantity that the call uses, instead of --cost; once for each")
      ->type_name("NAME=N")
      ->type_size(1)
      ->expected(-1)
      ->allow_extra_args(false)
      ->excludes("--cost");
  command
      ->add_option_function<std::string>(
          "--at",
          [&options](const std::string& text) {
            options.at = sluice::ParseTimestamp(text);
            if (!options.at) {
              throw CLI::ValidationError(
                  "--at", "expected a time such as 2026-12-01T00:00:00Z, found '" + text + "'");
            }
          },
          "When the call comes, for rules with a schedule; default: now")
      ->type_name("TIME");
  command->add_option("--entries", options.entries, "A file of live entries: entries list --json")
      ->type_name("FILE");
  command->add_flag("--json", options.json, "Print JSON");
  command->callback([&action, &options] { action = [&options] { return ExplainCall(options); }; });
}

void AddConvertLog(CLI::App& app, Action& action, ConvertLogOptions& options) {
  CLI::App* const command =
      app.add_subcommand("convert-log", "Print an access log as a trace for simulate");
  command->footer(
      "Reads the common and combined formats of nginx and Apache, and JSON lines.\n\n"
      "Example:\n  sluice convert-log /var/log/nginx/access.log > calls.csv");
  command->add_option("LOG", options.log, "The log; - is standard input")->required();
  command->callback([&action, &options] { action = [&options] { return ConvertLog(options); }; });
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
          "How far a row may go back in time, in seconds; it is evaluated at the time of the "
          "previous one [1]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9).description(""));
}

void AddSimulate(CLI::App& app, Action& action, SimulateOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "simulate", "Replay a trace of calls through rules, and report what they would have done");
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
                   "The rule file that is active today: report the difference")
      ->type_name("FILE");
  command->add_option("--entries", options.entries, "A file of live entries: entries list --json")
      ->type_name("FILE");
  command->add_option("--top", options.top, "How many of the most denied keys to report")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--examples", options.examples,
                   "How many calls to report for each kind of difference")
      ->type_name("N")
      ->capture_default_str();
  static const std::map<std::string, TimeUnit> kUnits{{"auto", TimeUnit::kByMagnitude},
                                                      {"s", TimeUnit::kSeconds},
                                                      {"ms", TimeUnit::kMillis},
                                                      {"us", TimeUnit::kMicros},
                                                      {"ns", TimeUnit::kNanos}};
  command
      ->add_option("--time-unit", options.unit,
                   "Unit of numeric times: s, ms, us, ns; auto: by their magnitude [auto]")
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
  add_progress("--progress", ShowProgress::kAlways,
               "Show progress even if the output is no terminal");
  add_progress("--no-progress", ShowProgress::kNever, "Never show progress");
  command->callback([&action, &options] { action = [&options] { return Simulate(options); }; });
}

void AddServe(CLI::App& app, Action& action, ServeOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "serve", "Run the server: HTTP, the Redis protocol and gRPC (the default)");
  command->footer(
      "Every setting can also stand in the file, and in the environment as SLUICE_…; flags win.\n\n"
      "Example:\n  sluice serve --rules rules.yaml --http :8080 --store redis://127.0.0.1:6379");
  command->add_option("--config", options.config, "A file with settings")->type_name("FILE");
  const sluice::settings::Config defaults;
  for (const sluice::settings::Setting& setting : sluice::settings::Settings()) {
    std::string names = setting.flag();
    if (!setting.also.empty()) names += ",--" + std::string(setting.also);
    const std::string name(setting.name);
    const std::string usual = setting.access.get(defaults);
    command
        ->add_option_function<std::string>(
            names,
            [&options, name](const std::string& text) {
              options.settings.emplace_back(name, text);
            },
            std::string(setting.meaning) + (usual.empty() ? "" : " [" + usual + "]"))
        ->type_name(std::string(setting.value))
        ->group(setting.section().empty() ? "general" : std::string(setting.section()));
  }
  command->add_flag("--print-config", options.print_config,
                    "Print the settings as they would be, and exit");
  command->callback([&action, &options] { action = [&options] { return Serve(options); }; });
}

void AddHealthcheck(CLI::App& app, Action& action, HealthcheckOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "healthcheck", "Exit with 0 if a server is ready, else with 1; for probes in containers");
  command->footer(
      "Without --server, the listener is read from the settings of the server: the file and the "
      "variables SLUICE_…\n\n"
      "Example:\n  sluice healthcheck --server unix:/run/sluice/http.sock");
  command->add_option("--server", options.remote.server, "The server: a URL or unix:/path")
      ->type_name("URL")
      ->envname("SLUICE_SERVER");
  command->add_option("--config", options.config, "A file with the settings of the server")
      ->type_name("FILE");
  command->add_flag("--live", options.live, "Ask whether it responds, not whether it is ready");
  command
      ->add_option_function<std::string>(
          "--timeout",
          [&options](const std::string& text) {
            const auto timeout = sluice::ParseDuration(text);
            if (!timeout || *timeout <= sluice::Micros::zero()) {
              throw CLI::ValidationError("--timeout", "expected a time such as 2s");
            }
            options.timeout = *timeout;
          },
          "How long to wait for a connection, and for the response [2s]")
      ->type_name("TIME");
  AddTlsFiles(*command, options.remote);
  command->callback([&action, &options] { action = [&options] { return Healthcheck(options); }; });
}

// The first argument, if it is neither an option nor the name of a command.
std::string UnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1][0] == '\0') return {};
  const auto commands =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == argv[1]; });
  return commands.empty() ? argv[1] : "";
}

// The names of the commands, or of the flags of one.
std::vector<std::string> NamesIn(const CLI::App& app, const std::string& command) {
  std::vector<std::string> names;
  if (command.empty()) {
    for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(known->get_name());
    }
  } else {
    for (const CLI::Option* option : app.get_subcommand(command)->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string DidYouMean(const CLI::App& app, const std::string& command,
                       const std::string& written) {
  const std::vector<std::string> names = NamesIn(app, command);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return sluice::config_text::DidYouMean(written.substr(0, written.find('=')), views);
}

int Refuse(const std::string& message, const std::string& command) {
  std::fprintf(stderr, "sluice: %s; see sluice %s--help\n", message.c_str(),
               command.empty() ? "" : (command + ' ').c_str());
  const bool uses_two = command == "rules" || command == "entries" || command == "unblock" ||
                        command == "healthcheck";
  return uses_two ? kRemoteUsageError : kUsageError;
}

void AddCompletion(CLI::App& app, Action& action) {
  CLI::App* const command =
      app.add_subcommand("completion", "Print a script that completes commands and options");
  command->footer("Example:\n  source <(sluice completion bash)");
  command->require_subcommand(1);
  command->add_subcommand("bash", "The script for bash")->callback([&app, &action] {
    action = [&app] {
      std::fputs(BashCompletion(app).c_str(), stdout);
      return 0;
    };
  });
}

struct HelpOptions {
  std::string topic{};
  bool manual_page = false;
};

// `sluice help [command]` and `sluice version`, as most programs have them.
void AddHelp(CLI::App& app, Action& action, HelpOptions& options) {
  CLI::App* const help = app.add_subcommand("help", "Print help for a command");
  CLI::Option* const command = help->add_option("COMMAND", options.topic, "The command");
  help->add_flag("--man", options.manual_page, "Print sluice(1) as input for man")
      ->excludes(command);
  help->callback([&] {
    action = [&] {
      const std::vector<std::string> commands = NamesIn(app, "");
      const std::string& topic = options.topic;
      if (options.manual_page) {
        std::fputs(ManualPage(app).c_str(), stdout);
      } else if (topic.empty()) {
        std::fputs(app.help().c_str(), stdout);
      } else if (std::find(commands.begin(), commands.end(), topic) != commands.end()) {
        std::fputs(app.get_subcommand(topic)->help("sluice").c_str(), stdout);
      } else {
        return Refuse("unknown command '" + topic + "'" + DidYouMean(app, "", topic), "");
      }
      return 0;
    };
  });
  app.add_subcommand("version", "Print the version")->callback([&action] {
    action = [] {
      std::puts("sluice " SLUICE_VERSION);
      return 0;
    };
  });
}

int Run(int argc, char** argv) {
  CLI::App app("Sluice " SLUICE_VERSION ", a rate limiter", "sluice");
  app.formatter(std::make_shared<Formatter>());
  app.set_version_flag("--version", "sluice " SLUICE_VERSION, "Print the version and exit");
  app.require_subcommand(0, 1);
  app.footer("More about a command: sluice help simulate");
  ServeOptions serve;
  Action action = [&serve] { return Serve(serve); };
  CheckConfigOptions check_config;
  ExplainOptions explain;
  SimulateOptions simulate;
  ConvertLogOptions convert_log;
  ImportEnvoyOptions import_envoy;
  HealthcheckOptions healthcheck;
  RulesOptions rules;
  TopOptions top;
  TailOptions tail;
  WhyOptions why;
  KeysOptions keys;
  EntriesOptions entries;
  TokensOptions tokens;
  HelpOptions help;
  AddServe(app, action, serve);
  AddHealthcheck(app, action, healthcheck);
  AddDemo(app, action);
  AddCheckConfig(app, action, check_config);
  AddExplain(app, action, explain);
  AddSimulate(app, action, simulate);
  AddConvertLog(app, action, convert_log);
  AddImportEnvoy(app, action, import_envoy);
  AddRules(app, action, rules);
  AddTop(app, action, top);
  AddTail(app, action, tail);
  AddWhy(app, action, why);
  AddKeys(app, action, keys);
  AddEntries(app, action, entries);
  AddTokens(app, action, tokens);
  AddCompletion(app, action);
  AddHelp(app, action, help);
  if (const std::string name = UnknownCommand(app, argc, argv); !name.empty()) {
    return Refuse("unknown command '" + name + "'" + DidYouMean(app, "", name), "");
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
      return Refuse(
          "unexpected argument '" + extra.front() + "'" + DidYouMean(app, command, extra.front()),
          command);
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
