#pragma once

#include <string_view>

#include "config_text/reading.h"
#include "rules/limit_level.h"
#include "rules/model.h"

namespace sluice::rules {

/// Returns the default cost: of calls with named quantities the one with the type's name; of others
/// the cost in the call, or for other types than requests the attribute with that name.
Cost UsualCost(std::string_view type);

/// Reads `cost`. Its `max` is stored in `level`, as a synonym of `max_cost`.
Cost ReadCost(config_text::Reading& reading, const config_text::Field& field, LimitLevel& level);

}  // namespace sluice::rules
