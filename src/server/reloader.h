#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/file_watcher.h"
#include "base/live.h"
#include "telemetry/log.h"

namespace sluice::server {

/// A part of the configuration that is read from files again while the server runs.
struct ReloadedComponent {
  std::string name;   ///< "rules", "http_tls": of log lines, and for Reload.
  std::string thing;  ///< Noun for messages about a failed reload: "rules", "certificate".
  WatchedFiles files;
  /// Validates and activates the content. Thread-safe.
  std::function<LoadReport(const FileChange& change, WallTime now)> load;
  /// Describes the active version for the log, as "12 rules"; may be empty.
  std::function<std::string()> describe{};
  ErrorCode error = ErrorCode::kInvalidOptions;  ///< Of a first load that fails.
};

/// Reads the files of all components when they change, or on request. A component whose files have
/// errors keeps what it had; the log has the errors.
class Reloader {
 public:
  explicit Reloader(telemetry::Log& log) : log_(log) {}
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  /// Reads the files for the first time; fails with all errors. Before Start.
  Result<bool> Add(ReloadedComponent component);
  /// Watches the files from now on.
  Result<bool> Start();
  /// Waits for a load that is running.
  void Stop() { thread_.reset(); }

  /// Reads the files of one component now, which must exist. From any thread after Start.
  LoadReport Reload(std::string_view name);
  void ReloadAll();

 private:
  LoadReport Load(const ReloadedComponent& component, const FileChange& change);

  telemetry::Log& log_;
  std::vector<ReloadedComponent> components_;  ///< Does not change after Start.
  std::vector<WatchThread::Watch> watches_;    ///< Until Start.
  std::unique_ptr<WatchThread> thread_;
};

}  // namespace sluice::server
