#pragma once

#include <string_view>

#include "config_text/reading.h"
#include "rules/limit_level.h"
#include "rules/model.h"

namespace sluice::rules {

/// The default cost of a call: of requests the cost in the call, of anything else
/// the attribute of that name.
Cost UsualCost(std::string_view type);

/// Reads `cost`. Its `max` goes to `level`, because it is `max_cost` in other words.
Cost ReadCost(config_text::Reading& reading, const config_text::Field& field, LimitLevel& level);

}  // namespace sluice::rules
