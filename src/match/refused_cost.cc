#include "match/refused_cost.h"

#include "base/parse_number.h"

namespace sluice::match {
namespace {

bool IsCost(std::string_view text) { return ParseNumber<std::int64_t>(text).value_or(0) >= 1; }

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 80;
  return "`" + std::string(text.substr(0, kShown)) + "`";
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string NameOf(const CostRefusal& refusal) {
  return "rule " + refusal.rule->id + ": the limit " + Quoted(refusal.limit->name) + " ";
}

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
  switch (refusal.error) {
    case ErrorCode::kUnknownQuantity:
      return "unknown quantity " + Quoted(refusal.quantity) + "; known are " +
             ListOf(refusal.file->quantities);
    case ErrorCode::kMissingQuantity:
      if (refusal.quantity.empty()) {
        return NameOf(refusal) + "counts money, so the check needs `use` with its quantities";
      }
      return NameOf(refusal) + "counts " + Quoted(refusal.quantity) + ", which `use` does not have";
    case ErrorCode::kNoPrice:
      if (!refusal.quantity.empty()) {
        return NameOf(refusal) + "counts money, and model " + Quoted(refusal.model) +
               " has no price for " + Quoted(refusal.quantity);
      }
      return NameOf(refusal) + "counts money, and " +
             (refusal.model.empty() ? "the call has no attribute `model`"
                                    : "`models` has no price for " + Quoted(refusal.model));
    default:
      break;
  }
  if (refusal.rule == nullptr) {
    return Quoted(refusal.quantity) + " must be between 0 and " + std::to_string(kMaxAmount) +
           ", found " + std::to_string(refusal.cost);
  }
  if (refusal.cost == kMaxAmount) {
    return NameOf(refusal) + "can't count so much: more than " + std::to_string(kMaxAmount);
  }
  return "rule " + refusal.rule->id + ": " +
         WhyRefused(refusal.limit->cost, refusal.sent, refusal.cost);
}

}  // namespace sluice::match
