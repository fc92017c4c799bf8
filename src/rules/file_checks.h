#pragma once

#include <span>
#include <vector>

#include "rules/model.h"
#include "rules/reading.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// What is wrong with rules beside each other, and with their overrides: ids that stand twice,
/// overrides and rules that can never be met, more limits than a call can meet. `in_order` is the
/// order in which they are looked at.
void CheckRules(Reading& reading, const RuleFile& file, std::span<ReadRule* const> in_order);

/// The order in which rules are looked at.
std::vector<ReadRule*> InOrder(std::vector<ReadRule>& rules);

}  // namespace sluice::rules
