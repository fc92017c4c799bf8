#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/time.h>

#include "match/entry_set.h"
#include "match/rule_set.h"
#include "simulate/traffic_sample.h"

namespace sluice::simulate {

/// A caller whose calls are decided differently by new rules.
struct AffectedCaller {
  /// "api_key" or "ip"; empty: the caller has neither, and `value` lists its attributes.
  std::string attribute;
  std::string value;        ///< Raw: to be hashed or shortened before it is shown.
  std::uint64_t calls = 0;  ///< Replayed.
  std::uint64_t newly_denied_calls = 0;
  std::uint64_t newly_allowed_calls = 0;
};

/// The effect of a rule change on sampled traffic.
struct Impact {
  std::uint64_t calls = 0;           ///< Of the sample that were replayed.
  std::uint64_t callers = 0;         ///< Of those calls.
  std::uint64_t replayed_calls = 0;  ///< `calls` × `nodes`; the following count these.
  std::uint64_t newly_denied_calls = 0;
  std::uint64_t newly_denied_callers = 0;  ///< Callers with a newly denied call.
  std::uint64_t newly_allowed_calls = 0;
  std::uint64_t newly_allowed_callers = 0;  ///< Callers with a newly allowed call.
  /// Those with newly denied calls, the most first, then those that called first. At most `top`.
  std::vector<AffectedCaller> most_denied;

  double share = 1;  ///< Of all callers of the node.
  Micros span{0};
  std::uint32_t nodes = 1;
  /// Calls were replayed for other nodes, budgets were scaled by the share, or concurrency limits,
  /// which need durations of calls, were left out.
  bool approximate = false;

  /// Newly denied calls among all that were replayed: 0 to 1.
  [[nodiscard]] double newly_denied_ratio() const {
    return replayed_calls == 0
               ? 0
               : static_cast<double>(newly_denied_calls) / static_cast<double>(replayed_calls);
  }
};

/// An impact, or the reason why there is none.
struct ImpactResult {
  std::optional<Impact> impact;
  std::string unavailable_reason;  ///< Empty if there is an impact.
};

struct ImpactOptions {
  std::uint32_t nodes = 1;       ///< Live nodes that share the limits, this one included.
  std::size_t min_calls = 1000;  ///< Below, a sample says nothing.
  std::size_t top = 10;          ///< Callers in `most_denied`.
  /// With many nodes fewer callers are replayed, so that it takes no longer.
  std::uint64_t max_replayed_calls = 1'000'000;
};

/// Replays a sample through the rules in force and through new ones, each from full budgets, at the
/// times of the calls.
///
/// Traffic of the other nodes is taken to be like this node's: each call is replayed once for each
/// node. Budgets that callers share (`per` has neither the API key nor the address that identifies
/// them) are divided as the callers are: they have the sample's share of their numbers.
///
/// Takes up to a second for 100 000 calls: for a worker thread. Any thread.
[[nodiscard]] ImpactResult EvaluateImpact(const TrafficSample& sample, const match::RuleSet& before,
                                          const match::RuleSet& after,
                                          const ImpactOptions& options = {});

/// Rules and the live entries that are consulted before them.
struct Policy {
  const match::RuleSet& rules;
  std::shared_ptr<const match::EntrySet> entries{};  ///< Null: none.
};
/// The same for changes of rules, of entries or of both.
[[nodiscard]] ImpactResult EvaluateImpact(const TrafficSample& sample, const Policy& before,
                                          const Policy& after, const ImpactOptions& options = {});

}  // namespace sluice::simulate
