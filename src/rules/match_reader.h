#pragma once

#include <vector>

#include "config_text/reading.h"
#include "rules/attribute_names.h"
#include "rules/model.h"

namespace sluice::rules {

/// Reads the conditions of a rule, including its tier as attribute "tier". Names similar to a
/// well-known one are errors unless `names` declares them.
std::vector<Condition> ReadMatch(config_text::Reading& reading, const config_text::Field& match,
                                 const AttributeNames& names);

/// Reads the tiers of a rule: one, or a list.
Condition ReadTiers(config_text::Reading& reading, const config_text::Field& field);

}  // namespace sluice::rules
