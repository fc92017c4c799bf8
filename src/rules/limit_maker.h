#pragma once

#include <optional>
#include <string>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "rules/limit_level.h"
#include "rules/model.h"
#include "rules/reading.h"

namespace sluice::rules {

/// What becomes of the numbers of a limit.
struct MadeLimit {
  std::optional<Limit> limit;  ///< Not set: something is missing or wrong.
  bool reject_all = false;
  Micros window{0};
  std::string missing;  ///< What would have to be there, for people; empty if it is wrong instead.
};

/// Makes a limit of what all levels say together. Numbers of defaults and tiers that the algorithm
/// has no use for are taken out of `level`, and so are those of levels weaker than the one that
/// names the algorithm; others are reported, as is everything that contradicts itself. What is
/// missing is not reported: another tier may have it.
MadeLimit MakeLimit(Reading& reading, LimitLevel& level);

/// The quantities that are set, for people who ask where a number came from.
std::vector<Setting> SettingsOf(const LimitLevel& level);

}  // namespace sluice::rules
