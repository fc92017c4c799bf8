#pragma once

#include <cstdint>
#include <string_view>

#include "base/stable_hash.h"
#include "rules/model.h"

namespace sluice::match {

/// The group of callers of a rule that a caller belongs to.
enum class Cohort : std::uint8_t {
  kAll,  ///< The rule has no rollout.
  kNew,  ///< In the rollout: the new numbers.
  kOld,  ///< Outside: the numbers in `from`, or the rule does not apply.
};

/// The cohort of a caller: of the value that its budget is counted under, empty if it has none. All
/// nodes and all versions of Sluice agree; a larger share only adds callers; and since the rule's
/// id is part of the hash, two rollouts choose independently.
[[nodiscard]] inline Cohort CohortOf(const rules::Rollout& rollout, std::string_view rule_id,
                                     std::string_view value) {
  const std::uint64_t place = StableHash(rule_id, value) % rules::Rollout::kWhole;
  return place < rollout.share ? Cohort::kNew : Cohort::kOld;
}

/// "all", "new", "old".
[[nodiscard]] constexpr std::string_view NameOf(Cohort cohort) {
  switch (cohort) {
    case Cohort::kNew:
      return "new";
    case Cohort::kOld:
      return "old";
    case Cohort::kAll:
      break;
  }
  return "all";
}

}  // namespace sluice::match
