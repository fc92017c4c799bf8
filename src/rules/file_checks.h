#pragma once

#include <span>

#include "rules/model.h"
#include "rules/reading.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// What is wrong with rules beside each other, and with their overrides: ids that stand twice,
/// overrides and rules that can never be met.
void CheckRules(Reading& reading, const RuleFile& file, std::span<const ReadRule> rules);

}  // namespace sluice::rules
