#pragma once

#include <memory>
#include <optional>

#include <sluice/result.h>

#include "api/host.h"
#include "rules/file_watcher.h"
#include "rules/live_rules.h"
#include "server/shared.h"

namespace sluice::server {

/// Keeps `Shared::envoy` what the directory of the settings says, while the server runs. Without
/// that setting it does nothing.
class EnvoyKeeper {
 public:
  explicit EnvoyKeeper(Shared& shared) : shared_(shared) {}
  EnvoyKeeper(const EnvoyKeeper&) = delete;
  EnvoyKeeper& operator=(const EnvoyKeeper&) = delete;

  /// Reads the files for the first time, and watches them from then on.
  Result<bool> Start();
  /// Reads them at once. From any thread.
  std::optional<rules::LoadReport> Reload();
  /// Ends the watching.
  void Stop() { watch_.reset(); }

  [[nodiscard]] std::optional<api::Condition> Check() const;

 private:
  [[nodiscard]] rules::FileWatcher Watcher() const;
  rules::LoadReport Load(const rules::FileChange& change);

  Shared& shared_;
  std::unique_ptr<rules::WatchThread> watch_;
};

}  // namespace sluice::server
