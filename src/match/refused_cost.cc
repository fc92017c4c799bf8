#include "match/refused_cost.h"

#include "base/parse_number.h"

namespace sluice::match {
namespace {

bool IsCost(std::string_view text) { return ParseNumber<std::int64_t>(text).value_or(0) >= 1; }

}  // namespace

std::string WhyRefused(const rules::Cost& cost, std::string_view sent, std::int64_t own_cost) {
  if (own_cost < 0) return "a cost can't be negative";
  std::string why;
  if (!sent.empty() && !IsCost(sent)) {
    constexpr std::size_t kShown = 80;
    why.append(cost.attribute).append(" '").append(sent.substr(0, kShown));
    return why.append("' is no whole number of at least 1");
  }
  if (sent.empty()) {
    why.append("the cost of ").append(std::to_string(own_cost));
  } else {
    why.append(cost.attribute).append(" ").append(sent);
  }
  return why.append(" is more than max_cost ").append(std::to_string(cost.max_cost.value_or(0)));
}

std::string Describe(const CostRefusal& refusal) {
  return "rule " + refusal.rule->id + ": " +
         WhyRefused(refusal.limit->cost, refusal.sent, refusal.cost);
}

}  // namespace sluice::match
