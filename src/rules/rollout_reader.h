#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_text/reading.h"
#include "rules/limit_level.h"
#include "rules/model.h"

namespace sluice::rules {

/// `rollout` of a rule as written.
struct RolloutSpec {
  Rollout rollout;          ///< Without the numbers of `from`.
  config_text::Field from;  ///< Not set: there is none.
  NamedLevels levels;       ///< The numbers in `from`.
};

/// Reads `rollout` of a rule with this `per`. Returns nothing if it has an error.
[[nodiscard]] std::optional<RolloutSpec> ReadRollout(
    config_text::Reading& reading, const config_text::Field& field,
    const std::optional<std::vector<std::string>>& per);

/// Reports limits whose algorithm differs between the numbers of a rule and those in `from`: both
/// groups of callers use the same keys, and the state of a key belongs to one algorithm.
void CheckSameAlgorithms(config_text::Reading& reading, const config_text::Field& from,
                         const LimitVariants& variants, const LimitVariants& from_variants);

}  // namespace sluice::rules
