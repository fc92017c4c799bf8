#pragma once

#include <string_view>

#include "rules/limit_level.h"
#include "rules/model.h"
#include "rules/reading.h"

namespace sluice::rules {

/// What a call takes if nothing is said: of requests what the call itself says, of anything else
/// the attribute of that name.
Cost UsualCost(std::string_view type);

/// Reads `cost`. Its `max` goes to `level`, because it is `max_cost` in other words.
Cost ReadCost(Reading& reading, const Field& field, LimitLevel& level);

}  // namespace sluice::rules
