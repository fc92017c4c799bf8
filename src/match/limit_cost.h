#pragma once

#include <cstdint>
#include <optional>

#include "match/match_input.h"
#include "match/rule_set.h"
#include "rules/model.h"

namespace sluice::match {

/// The cost of a call for one limit, or the reason why it has none.
struct LimitCost {
  std::int64_t amount = 0;               ///< In parts of the limit's unit.
  const rules::Count* count = nullptr;   ///< Of quantities: what was counted of them.
  std::optional<CostRefusal> refusal{};  ///< Without rule and limit.
};

/// Returns the cost. `rules` has the prices.
[[nodiscard]] LimitCost CostOf(const rules::NamedLimit& limit, const Usage& usage,
                               const RuleSet& rules, const Slots& slots, const MatchInput& call);

}  // namespace sluice::match
