#pragma once

#include <optional>
#include <string>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "config_text/reading.h"
#include "rules/limit_level.h"
#include "rules/model.h"

namespace sluice::rules {

/// The result of making a limit from its numbers.
struct MadeLimit {
  std::optional<Limit> limit;  ///< Not set: something is missing or wrong.
  bool reject_all = false;
  Micros window{0};
  std::string missing;  ///< The missing field, for messages; empty if a field is wrong instead.
};

/// Makes a limit from the combined levels. Removes from `level` numbers of defaults and tiers that
/// the algorithm does not use, and those of levels weaker than the one with the algorithm; reports
/// other unused numbers, and contradictions. Does not report missing numbers, because another tier
/// may have them.
MadeLimit MakeLimit(config_text::Reading& reading, LimitLevel& level);

/// Returns the quantities that are set, to explain the origin of numbers.
std::vector<Setting> SettingsOf(const LimitLevel& level);

}  // namespace sluice::rules
