#include "server/reloader.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/clock.h"

namespace sluice::server {
namespace {

using telemetry::LogLevel;

FileChange ReadFiles(const ReloadedComponent& component) {
  return FileWatcher(component.files).ReadNow(SteadyClock::Now());
}

Error FirstLoadError(const ReloadedComponent& component, const std::vector<std::string>& errors) {
  std::string message = component.name + " can't be loaded:";
  if (errors.size() == 1) message.clear();
  for (const std::string& error : errors) message += (message.empty() ? "" : "\n") + error;
  return {component.error, std::move(message)};
}

}  // namespace

Result<bool> Reloader::Add(ReloadedComponent component) {
  FileWatcher watcher(component.files);
  const LoadReport report = Load(component, watcher.ReadNow(SteadyClock::Now()));
  if (report.outcome == LoadOutcome::kRefused) return FirstLoadError(component, report.errors);
  if (!component.files.empty()) {
    watches_.push_back({.watcher = std::move(watcher),
                        .on_change = [this, index = components_.size()](const FileChange& change) {
                          Load(components_[index], change);
                        }});
  }
  components_.push_back(std::move(component));
  return true;
}

Result<bool> Reloader::Start() {
  if (watches_.empty()) return true;
  try {
    thread_ = std::make_unique<WatchThread>(std::exchange(watches_, {}));
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kInvalidOptions,
                 std::string("no thread to watch files: ") + error.what()};
  }
  return true;
}

LoadReport Reloader::Reload(std::string_view name) {
  const auto found = std::find_if(components_.begin(), components_.end(),
                                  [&](const auto& component) { return component.name == name; });
  return Load(*found, ReadFiles(*found));
}

void Reloader::ReloadAll() {
  for (const ReloadedComponent& component : components_) Load(component, ReadFiles(component));
}

LoadReport Reloader::Load(const ReloadedComponent& component, const FileChange& change) {
  LoadReport report = component.load(change, TheSystemClock().Now());
  for (const std::string& warning : report.warnings) {
    log_.Write(LogLevel::kWarn, component.name + " warning", {{"warning", warning}});
  }
  if (report.outcome == LoadOutcome::kActivated) {
    const std::string content = component.describe ? component.describe() : component.thing;
    log_.Write(LogLevel::kInfo, component.name + " loaded",
               {{"version", report.version}, {"content", content}});
  } else if (report.outcome == LoadOutcome::kRefused && report.version > 0) {
    for (const std::string& error : report.errors) {
      log_.Write(LogLevel::kError, component.name + " error", {{"error", error}});
    }
    log_.Write(LogLevel::kError,
               component.name + " reload failed, keeping previous " + component.thing +
                   (report.errors.empty() ? "" : ": " + report.errors.front()),
               {{"version", report.version}, {"errors", report.errors.size()}});
  }
  return report;
}

}  // namespace sluice::server
