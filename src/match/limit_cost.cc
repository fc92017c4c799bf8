#include "match/limit_cost.h"

#include <algorithm>

#include "base/parse_number.h"

namespace sluice::match {
namespace {

LimitCost Refused(const CostRefusal& refusal) { return {.refusal = refusal}; }

ErrorCode ErrorOf(rules::CountError error) {
  switch (error) {
    case rules::CountError::kMissing:
      return ErrorCode::kMissingQuantity;
    case rules::CountError::kNoPrice:
      return ErrorCode::kNoPrice;
    case rules::CountError::kNone:
    case rules::CountError::kTooLarge:
      break;
  }
  return ErrorCode::kInvalidCost;
}

// In units; nothing if the limit does not take it.
std::optional<std::int64_t> ByCost(const rules::Cost& cost, const Slots& slots,
                                   const MatchInput& call, std::int64_t own_cost) {
  if (own_cost == 0) return 0;  // A look takes nothing.
  if (own_cost < 0) return std::nullopt;
  if (cost.constant) return *cost.constant;
  std::int64_t taken = own_cost;
  if (!cost.attribute.empty()) {
    const std::string_view sent = call[slots.Find(cost.attribute)];
    if (!sent.empty()) {
      const auto number = ParseNumber<std::int64_t>(sent);
      if (!number || *number < 1) return std::nullopt;
      taken = *number;
    }
  }
  if (cost.max_cost && taken > *cost.max_cost) return std::nullopt;
  return std::max(taken, cost.least);
}

LimitCost ByQuantity(const rules::NamedLimit& limit, const Usage& usage, const RuleSet& rules,
                     std::string_view model) {
  const rules::Cost& cost = limit.cost;
  if (cost.constant) return {.amount = *cost.constant};
  const rules::Count* const count =
      rules::CountsMoney(limit) ? rules.PriceOf(model) : cost.count.get();
  if (count == nullptr) return Refused({.error = ErrorCode::kNoPrice, .model = model});
  const rules::CountResult sum = rules::Sum(*count, usage.quantities);
  if (sum.error != rules::CountError::kNone) {
    return Refused({.error = ErrorOf(sum.error),
                    .cost = sum.amount,
                    .quantity = sum.quantity,
                    .model = model});
  }
  // Both are compared in units; a part of one is more than none.
  const std::int64_t units = sum.amount / limit.scale + (sum.amount % limit.scale != 0 ? 1 : 0);
  if (cost.max_cost && units > *cost.max_cost) return Refused({.cost = units});
  const std::int64_t least = cost.least > 1 ? cost.least * limit.scale : 0;
  return {.amount = std::max(sum.amount, least), .count = count};
}

}  // namespace

LimitCost CostOf(const rules::NamedLimit& limit, const Usage& usage, const RuleSet& rules,
                 const Slots& slots, const MatchInput& call) {
  if (usage.is_by_quantity) {
    return ByQuantity(limit, usage, rules,
                      rules::CountsMoney(limit) ? call[slots.Find("model")] : std::string_view());
  }
  if (rules::CountsMoney(limit) && usage.cost > 0) {
    // Whatever a call costs, it is not what its other limits count.
    if (usage.only_looks) return {.amount = 1};
    return Refused({.error = ErrorCode::kMissingQuantity, .cost = usage.cost});
  }
  const auto units = ByCost(limit.cost, slots, call, usage.cost);
  if (units && *units <= kMaxAmount / limit.scale) return {.amount = *units * limit.scale};
  CostRefusal refusal{.cost = usage.cost};
  if (!limit.cost.attribute.empty() && usage.cost > 0) {
    refusal.sent = call[slots.Find(limit.cost.attribute)];
    if (!refusal.sent.empty()) refusal.attribute = limit.cost.attribute;
  }
  return Refused(refusal);
}

}  // namespace sluice::match
