#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/change.h"
#include "control/rule_sync.h"
#include "control/version.h"
#include "match/rule_set.h"
#include "server/shared.h"

namespace sluice::server {

/// The rules of a server that come from its control store: what fills an empty store, and the
/// activation of versions. Thread-safe.
class StoredRules {
 public:
  /// Reads the rule file. `shared` must outlive it.
  explicit StoredRules(Shared& shared);

  /// The content of the rule file; only rules without errors are a seed.
  [[nodiscard]] const std::optional<std::string>& seed() const { return seed_; }
  /// Why the rule file is no seed.
  [[nodiscard]] const std::vector<std::string>& seed_errors() const { return seed_errors_; }

  /// Compiles and activates a version.
  control::LoadReport Activate(const control::Version& version);
  /// Returns the version that this process had active under a number (Live::Versions).
  [[nodiscard]] std::optional<control::VersionId> FindActivated(std::uint64_t live_number);
  /// Replays sampled traffic through both rule sets.
  [[nodiscard]] control::ChangeImpact EvaluateImpact(const match::RuleSet& before,
                                                     const match::RuleSet& after,
                                                     std::size_t live_nodes) const;

 private:
  Shared& shared_;
  std::optional<std::string> seed_;
  std::vector<std::string> seed_errors_;
  std::mutex mutex_;
  /// Numbers in Live, and the versions that they are; the newest last. Guarded by the mutex.
  std::vector<std::pair<std::uint64_t, control::VersionId>> activated_;
};

}  // namespace sluice::server
