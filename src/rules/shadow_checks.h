#pragma once

#include <span>

#include "config_text/reading.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// Reports rules that can never match, because an earlier rule that is `final` is matched by every
/// call which they are for. Only what is evident is found: the same or wider patterns. `in_order`
/// is the order in which rules are looked at.
void CheckShadowed(config_text::Reading& reading, std::span<ReadRule* const> in_order);

}  // namespace sluice::rules
