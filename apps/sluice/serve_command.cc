#include "serve_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <unistd.h>

#include "config_text/suggestion.h"
#include "local_url.h"
#include "server/server.h"
#include "settings/setting.h"

namespace sluice::app {
namespace {

constexpr int kWrongSettings = 2;
constexpr int kStuck = 1;

// With JSON logs, standard output is left to programs: the log has a record of each address.
void PrintStartup(const server::Server& server, const settings::Config& config) {
  if (config.log.format == telemetry::LogFormat::kJson) return;
  std::string url_to_try;
  const auto& addresses = server.addresses();
  const bool has_admin_listener =
      std::any_of(addresses.begin(), addresses.end(),
                  [](const server::Listening& one) { return one.name == "Admin"; });
  const std::string_view metrics_listener = has_admin_listener ? "Admin" : "HTTP";
  for (const server::Listening& listening : addresses) {
    const std::string url = LocalUrl(listening.scheme, listening.address);
    std::printf("%-16s %s\n", std::string(listening.name).c_str(), url.c_str());
    if (listening.address.is_unix()) continue;
    if (listening.name == metrics_listener) {
      std::printf("metrics          %s/metrics\n", url.c_str());
    }
    if (listening.name == "HTTP" && url_to_try.empty()) url_to_try = url;
  }
  std::printf("store            %s\n", server.DescribeStore().c_str());
  std::printf("rules            %s\n", server.DescribeRules().c_str());
  if (!url_to_try.empty()) {
    std::printf("\nTry it:\n  curl -i -H 'X-API-Key: demo-key' %s/api/ping\n", url_to_try.c_str());
  }
  std::fflush(stdout);
}

// A variable that is misspelled would otherwise have no effect, silently.
void WarnOfUnknownVariables() {
  const auto settings = settings::Settings();
  std::vector<std::string> known{"SLUICE_CONFIG", "SLUICE_SERVER"};
  for (const settings::Setting& setting : settings) known.push_back(setting.variable());
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("SLUICE_")) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::fprintf(stderr, "sluice serve: warning: the variable %s belongs to no setting%s\n",
                 std::string(name).c_str(), config_text::DidYouMean(name, names).c_str());
  }
}

}  // namespace

Result<settings::Config> ReadServerConfig(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& flags) {
  const char* const variable = std::getenv("SLUICE_CONFIG");  // NOLINT(concurrency-mt-unsafe)
  settings::ConfigSources sources;
  sources.file = file.empty() && variable != nullptr ? variable : file;
  sources.environment = [](const char* name) {
    return static_cast<const char*>(std::getenv(name));  // NOLINT(concurrency-mt-unsafe)
  };
  sources.flags = flags;
  return settings::ReadConfig(sources);
}

int Serve(const ServeOptions& options) {
  WarnOfUnknownVariables();
  auto config = ReadServerConfig(options.config, options.settings);
  if (!config) {
    std::fprintf(stderr, "sluice serve: invalid settings:\n%s\n", config.error().message.c_str());
    return kWrongSettings;
  }
  if (options.print_config) {
    std::fputs(settings::PrintConfig(*config).c_str(), stdout);
    return 0;
  }
  auto server = server::Server::Start(*config);
  if (!server) {
    std::fprintf(stderr, "sluice serve: %s\n", server.error().message.c_str());
    return 1;
  }
  // A program that reads the addresses may send a signal at once.
  const auto ended = (*server)->Run([&] { PrintStartup(**server, *config); });
  if (ended == server::Server::Ended::kWell) return 0;
  std::fflush(nullptr);
  std::_Exit(kStuck);
}

}  // namespace sluice::app
