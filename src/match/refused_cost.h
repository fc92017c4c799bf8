#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "match/rule_set.h"
#include "rules/model.h"

namespace sluice::match {

/// Why a limit does not take a cost: "tokens '1.5' is no whole number of at least 1", "the cost of
/// 6 is more than max_cost 5". `sent` is the cost's attribute; empty: the call's own cost counts.
[[nodiscard]] std::string WhyRefused(const rules::Cost& cost, std::string_view sent,
                                     std::int64_t own_cost);

/// The same with the rule: "rule api: the cost of 6 is more than max_cost 5".
[[nodiscard]] std::string Describe(const CostRefusal& refusal);

}  // namespace sluice::match
