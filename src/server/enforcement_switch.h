#pragma once

#include <mutex>
#include <optional>

#include "control/record_sync.h"
#include "limiter/limiter.h"
#include "server/shared.h"

namespace sluice::server {

/// The enforcement of this process: its own (setting, PUT /admin/enforcement), and while there is
/// one for all servers (a record, PUT /admin/v1/enforcement), that one. The last change wins; when
/// the record expires or is removed, the process's own applies again. Thread-safe.
class EnforcementSwitch {
 public:
  /// `shared` must outlive it.
  explicit EnforcementSwitch(Shared& shared)
      : shared_(shared), own_(shared.settings.enforcement.load()) {}

  /// Sets that of this process.
  void Set(limiter::Enforcement enforcement);
  /// Applies changes of the record for all servers.
  void Apply(const control::RecordChanges& changes);

 private:
  void Use(limiter::Enforcement enforcement, std::string_view scope);

  Shared& shared_;
  std::mutex mutex_;  ///< Guards all that follows.
  limiter::Enforcement own_;
  std::optional<limiter::Enforcement> fleet_;
};

}  // namespace sluice::server
