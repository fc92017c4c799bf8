#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "control/change.h"
#include "control/version.h"
#include "match/rule_set.h"

namespace sluice::control {

struct RuleServiceOptions {
  std::string node{};            ///< The id of this node, for the audit log.
  bool require_message = false;  ///< A change needs a message.
  /// The largest share of sampled calls that a change may newly deny, 0 to 1. Not set: any.
  std::optional<double> max_newly_denied{};
};

/// Callbacks of the service into the process. Each may be empty. All are called on the thread of
/// the request.
struct RuleServiceHooks {
  /// Evaluates the impact of new rules on sampled traffic, for this many live nodes.
  std::function<ChangeImpact(const match::RuleSet& before, const match::RuleSet& after,
                             std::size_t live_nodes)>
      evaluate_impact{};
  /// Makes this node read the store's current version now.
  std::function<void()> wake_follower{};
  /// Returns the version that this node has applied; number 0: none.
  std::function<VersionRef()> active_version{};
};

}  // namespace sluice::control
