#pragma once

#include <span>

#include "config_text/reading.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// Reports rules that can never match, because an earlier `final` rule matches all their calls.
/// Detects only equal or wider patterns. `in_order` is the order of evaluation.
void CheckShadowed(config_text::Reading& reading, std::span<ReadRule* const> in_order);

}  // namespace sluice::rules
