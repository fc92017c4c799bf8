#include "server/envoy_keeper.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/clock.h"

namespace sluice::server {

using telemetry::LogLevel;

rules::FileWatcher EnvoyKeeper::Watcher() const {
  rules::FileWatcherOptions options;
  options.endings = {".yaml", ".yml"};
  return rules::FileWatcher(shared_.config.envoy_config, std::move(options));
}

Result<bool> EnvoyKeeper::Start() {
  const std::string& path = shared_.config.envoy_config;
  if (path.empty()) return true;
  rules::FileWatcher watcher = Watcher();
  const rules::LoadReport report = Load(watcher.LookNow(SteadyClock::Now()));
  if (report.outcome == rules::LoadOutcome::kRefused) {
    std::string mistakes;
    for (const rules::Mistake& mistake : report.mistakes) mistakes += "\n" + Describe(mistake);
    return Error{ErrorCode::kInvalidRules, "Envoy's configuration has mistakes:" + mistakes};
  }
  try {
    watch_ = std::make_unique<rules::WatchThread>(
        std::move(watcher), [this](const rules::FileChange& change) { Load(change); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kInvalidOptions,
                 "envoy.config: " + path + " can't be watched: " + error.what()};
  }
  return true;
}

std::optional<rules::LoadReport> EnvoyKeeper::Reload() {
  if (shared_.config.envoy_config.empty()) return std::nullopt;
  return Load(Watcher().LookNow(SteadyClock::Now()));
}

rules::LoadReport EnvoyKeeper::Load(const rules::FileChange& change) {
  rules::LoadReport report = shared_.envoy.Load(change, TheSystemClock().Now());
  for (const rules::Mistake& mistake : report.mistakes) {
    shared_.log.Write(LogLevel::kError, "mistake in Envoy's configuration",
                      {{"mistake", Describe(mistake)}});
  }
  for (const rules::Mistake& warning : report.warnings) {
    shared_.log.Write(LogLevel::kWarn, "doubt about Envoy's configuration",
                      {{"doubt", Describe(warning)}});
  }
  if (report.outcome == rules::LoadOutcome::kRefused) {
    shared_.log.Write(LogLevel::kError,
                      report.version == 0
                          ? "Envoy's configuration refused"
                          : "Envoy's configuration refused; the one before stays in force",
                      {{"version", report.version}});
  } else if (report.outcome == rules::LoadOutcome::kActivated) {
    const envoy::ConfigStatus status = shared_.envoy.Status();
    shared_.log.Write(
        LogLevel::kInfo, "Envoy's configuration in force",
        {{"version", report.version}, {"domains", status.domains}, {"limits", status.limits}});
    if (status.domains == 0) {
      shared_.log.Write(LogLevel::kWarn, "no file of Envoy's configuration; no domain is limited",
                        {{"directory", shared_.config.envoy_config}});
    }
  }
  return report;
}

std::optional<api::Condition> EnvoyKeeper::Check() const {
  if (shared_.config.envoy_config.empty()) return std::nullopt;
  const envoy::ConfigStatus status = shared_.envoy.Status();
  return api::Condition{
      .name = "envoy_config",
      .ok = !status.failing,
      .detail = "version " + std::to_string(status.version) +
                ", domains: " + std::to_string(status.domains) +
                (status.failing ? "; the files have mistakes, so it is not what they say" : "")};
}

}  // namespace sluice::server
