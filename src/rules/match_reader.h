#pragma once

#include <vector>

#include "rules/model.h"
#include "rules/reading.h"

namespace sluice::rules {

/// Reads the conditions of a rule. A tier is among them, with "tier" as its attribute.
std::vector<Condition> ReadMatch(Reading& reading, const Field& match);

/// Reads the tiers that a rule is for: one, or a list.
Condition ReadTiers(Reading& reading, const Field& field);

}  // namespace sluice::rules
