#pragma once

#include <span>
#include <vector>

#include "config_text/reading.h"
#include "rules/model.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// Reports errors between rules and in their overrides: duplicate ids, overrides and rules that can
/// never match, more limits than a call may match. `in_order` is the order of evaluation.
void CheckRules(config_text::Reading& reading, const RuleFile& file,
                std::span<ReadRule* const> in_order);

/// Returns the rules in the order of evaluation.
std::vector<ReadRule*> InOrder(std::vector<ReadRule>& rules);

}  // namespace sluice::rules
