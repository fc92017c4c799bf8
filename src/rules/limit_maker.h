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

/// Makes a limit of what all levels say together. Numbers of defaults and tiers that the algorithm
/// has no use for are taken out of `level`, and so are those of levels weaker than the one that
/// names the algorithm; others are reported, as is everything that contradicts itself. What is
/// missing is not reported: another tier may have it.
MadeLimit MakeLimit(config_text::Reading& reading, LimitLevel& level);

/// The quantities that are set, for people who ask where a number came from.
std::vector<Setting> SettingsOf(const LimitLevel& level);

}  // namespace sluice::rules
