#include "limiter/settlement.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "algo/state.h"
#include "base/url.h"
#include "base/wide_math.h"

namespace sluice::limiter {
namespace {

using store::Operation;
using store::SettlementStep;

// The clocks of servers and of a store may be so far apart without a receipt's being good for
// longer than the store remembers it.
constexpr Micros kClockDifference = std::chrono::minutes(1);

Key KeyOf(const TakenLimit& taken) {
  return {.scope = taken.scope, .tag = taken.tag, .rest = taken.rest};
}

bool IsSlot(const TakenLimit& taken) { return taken.limit.algorithm() == Algorithm::kConcurrency; }

std::int64_t AmountOf(const TakenLimit& taken) {
  return taken.receipt.amount + taken.receipt.from_grant;
}

// The names of scopes that callers bring limits for begin so; those of rules don't.
bool IsOfRule(const TakenLimit& taken) { return !taken.scope.starts_with(':'); }

// Returns until when the store must remember that the receipt was settled: until what was taken
// can't be changed any more.
WallTime RememberUntil(const ReceiptContents& receipt, const TakenLimit& taken) {
  WallTime until = receipt.expires;
  if (taken.receipt.from_grant == 0) {
    until = std::min(until, algo::AdjustableUntil(taken.limit.numbers(), taken.receipt.at));
  }
  return until + kClockDifference;
}

// The scope of a rule's limit is its rule and its name, percent-encoded.
void SetNames(const TakenLimit& taken, SettledLimit& limit) {
  const std::size_t colon = taken.scope.find(':');
  if (!IsOfRule(taken) || colon == std::string::npos) return;
  const std::string_view scope = taken.scope;
  if (!DecodePercent(scope.substr(0, colon), limit.rule)) limit.rule.clear();
  if (!DecodePercent(scope.substr(colon + 1), limit.name)) limit.name.clear();
}

bool Names(const rules::Count& count, std::string_view quantity) {
  for (const rules::CountTier& tier : count.tiers) {
    for (const rules::Weight& weight : tier.weights) {
      if (weight.quantity == quantity) return true;
    }
  }
  return false;
}

// The quantities that a settlement of the receipt may name.
std::vector<std::string> KnownQuantities(const ReceiptContents& receipt,
                                         std::span<const std::string> others) {
  std::vector<std::string> names(others.begin(), others.end());
  names.emplace_back(rules::kRequests);
  for (const OwnedQuantity& used : receipt.used) names.push_back(used.name);
  for (const TakenLimit& taken : receipt.taken) {
    for (const rules::CountTier& tier : taken.count.tiers) {
      for (const rules::Weight& weight : tier.weights) names.push_back(weight.quantity);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool IsKnown(const ReceiptContents& receipt, std::span<const std::string> others,
             std::string_view quantity) {
  if (quantity == rules::kRequests) return true;
  for (const std::string& other : others) {
    if (other == quantity) return true;
  }
  for (const OwnedQuantity& used : receipt.used) {
    if (used.name == quantity) return true;
  }
  return std::any_of(receipt.taken.begin(), receipt.taken.end(),
                     [&](const TakenLimit& taken) { return Names(taken.count, quantity); });
}

}  // namespace

bool SettledBy(const std::vector<TakenLimit>& taken, const TakenLimit& limit) {
  if (limit.limit.algorithm() == Algorithm::kConcurrency) return false;
  return limit.measured || std::none_of(taken.begin(), taken.end(),
                                        [](const TakenLimit& one) { return one.measured; });
}

bool IsSettleable(const CheckRequest& check, std::size_t use) {
  const store::KeyUse& taken = check.uses()[use];
  const Receipt& receipt = taken.receipt;
  if (receipt.amount != 0 || receipt.from_grant != 0 || receipt.slot != 0) return true;
  // What it uses may be known only later.
  const rules::NamedLimit* const named = check.matched(use).limit;
  return check.is_by_quantity() && taken.only_looks && receipt.at != WallTime{} &&
         taken.limit->algorithm() != Algorithm::kConcurrency && named != nullptr &&
         !named->reject_all;
}

ReceiptContents SuccessorOf(ReceiptContents receipt, Micros lifetime) {
  // Ids are as random as those before, but the same each time.
  std::uint64_t id = receipt.first_id + 0x9E3779B97F4A7C15;
  id = (id ^ (id >> 30)) * 0xBF58476D1CE4E5B9;
  id = (id ^ (id >> 27)) * 0x94D049BB133111EB;
  receipt.first_id = id ^ (id >> 31);
  receipt.expires += lifetime;
  for (std::size_t i = 0; i < receipt.taken.size(); ++i) {
    receipt.taken[i].id = receipt.first_id + i;
  }
  return receipt;
}

void ReceiptSettlement::Add(std::size_t taken, std::int64_t cost) {
  // Never more than the limit's bound, unless as much was taken already.
  const TakenLimit& limit = receipt_.taken[taken];
  const std::int64_t most = std::max(limit.max_settlement, AmountOf(limit));
  adjustments_.push_back({taken, std::min(cost, most), cost > most});
}

bool ReceiptSettlement::SettleUse(std::span<const UsedQuantity> used, bool is_partial,
                                  std::span<const std::string> known, SettlementRefusal& refusal) {
  if (!receipt_.is_by_quantity) {
    refusal = {.field = "use",
               .detail = "the receipt is of a check without `use`: settle it with `cost`"};
    return false;
  }
  std::vector<UsedQuantity> all(used.begin(), used.end());
  for (const UsedQuantity& quantity : used) {
    if (quantity.amount < 0 || quantity.amount > kMaxAmount) {
      refusal = {.error = ErrorCode::kInvalidCost,
                 .field = "use." + std::string(quantity.name),
                 .detail = "must be between 0 and " + std::to_string(kMaxAmount)};
      return false;
    }
    if (IsKnown(receipt_, known, quantity.name)) continue;
    std::string detail = "unknown quantity; known are ";
    bool is_first = true;
    for (const std::string& name : KnownQuantities(receipt_, known)) {
      detail += (std::exchange(is_first, false) ? "" : ", ") + name;
    }
    refusal = {.error = ErrorCode::kUnknownQuantity,
               .field = "use." + std::string(quantity.name),
               .detail = std::move(detail)};
    return false;
  }
  for (const OwnedQuantity& reserved : receipt_.used) {
    const bool is_settled = std::any_of(used.begin(), used.end(), [&](const UsedQuantity& each) {
      return each.name == reserved.name;
    });
    if (!is_settled) all.push_back({reserved.name, reserved.amount});
  }
  step_ = is_partial ? SettlementStep::kPartial : SettlementStep::kFinal;
  if (!is_partial) on_slots_ = Operation::kRelease;
  for (std::size_t i = 0; i < receipt_.taken.size(); ++i) {
    const TakenLimit& taken = receipt_.taken[i];
    if (IsSlot(taken)) continue;
    if (taken.count.tiers.empty()) {
      Add(i, AmountOf(taken));
      continue;
    }
    const rules::CountResult sum = rules::Sum(taken.count, all);
    if (sum.error == rules::CountError::kNoPrice || sum.error == rules::CountError::kMissing) {
      const bool has_no_price = sum.error == rules::CountError::kNoPrice;
      refusal = {.error = has_no_price ? ErrorCode::kNoPrice : ErrorCode::kMissingQuantity,
                 .field = "use." + std::string(sum.quantity),
                 .detail = has_no_price
                               ? "had no price when the call was checked, and a limit counts money"
                               : "is counted by a limit"};
      return false;
    }
    Add(i, sum.amount);
  }
  return true;
}

bool ReceiptSettlement::SettleCost(std::int64_t cost, SettlementRefusal& refusal) {
  if (receipt_.is_by_quantity) {
    refusal = {.field = "cost",
               .detail = "the receipt is of a check with `use`: settle it with `use`"};
    return false;
  }
  for (std::size_t i = 0; i < receipt_.taken.size(); ++i) {
    if (SettledBy(receipt_.taken, receipt_.taken[i])) Add(i, cost);
  }
  return true;
}

void ReceiptSettlement::Cancel() {
  on_slots_ = Operation::kRelease;
  for (std::size_t i = 0; i < receipt_.taken.size(); ++i) {
    if (!IsSlot(receipt_.taken[i])) Add(i, 0);
  }
}

void ReceiptSettlement::Extend(bool replaces) {
  on_slots_ = Operation::kRenew;
  step_ = SettlementStep::kMove;
  is_replaced_ = replaces;
  if (!replaces) return;
  for (std::size_t i = 0; i < receipt_.taken.size(); ++i) {
    if (!IsSlot(receipt_.taken[i])) Add(i, AmountOf(receipt_.taken[i]));
  }
}

bool ReceiptSettlement::AddAdjustments(CheckRequest& check) const {
  check.operation = Operation::kAdjust;
  for (const Adjustment& adjustment : adjustments_) {
    const TakenLimit& taken = receipt_.taken[adjustment.taken];
    check.AddLimit(KeyOf(taken), taken.limit, adjustment.cost);
    if (IsOfRule(taken)) check.SetOfRule();
    check.SetReceipt(taken.receipt);
    check.SetSettlement({.receipt = taken.id,
                         .expires = RememberUntil(receipt_, taken),
                         .max_per_key = max_per_key_,
                         .step = step_});
  }
  return !adjustments_.empty();
}

bool ReceiptSettlement::changes_slots() const {
  return on_slots_ != Operation::kCheck &&
         std::any_of(receipt_.taken.begin(), receipt_.taken.end(), IsSlot);
}

bool ReceiptSettlement::AddSlots(CheckRequest& check) const {
  if (!changes_slots()) return false;
  check.operation = on_slots_;
  for (const TakenLimit& taken : receipt_.taken) {
    if (!IsSlot(taken)) continue;
    check.slot = taken.receipt.slot;
    check.AddLimit(KeyOf(taken), taken.limit, 1);
  }
  return check.slot != 0;
}

void ReceiptSettlement::TakeResults(const CheckRequest& check) {
  if (check.operation != Operation::kAdjust) {
    slots_ += check.affected;
    return;
  }
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const store::KeyUse& use = check.uses()[i];
    const Adjustment& adjustment = adjustments_[i];
    TakenLimit& taken = receipt_.taken[adjustment.taken];
    const store::Settlement& settlement = *use.settlement;
    SettledLimit& limit = limits_.emplace_back();
    SetNames(taken, limit);
    limit.verdict = use.verdict;
    limit.verdict.limit /= taken.scale;
    limit.verdict.remaining /= taken.scale;
    limit.settled = CeilDiv(settlement.total, taken.scale);
    limit.is_capped = adjustment.is_capped;
    limit.stops = is_partial() && !taken.shadow &&
                  (adjustment.is_capped ||
                   (adjustment.cost >= settlement.total && use.verdict.remaining == 0));
    const bool is_moved = settlement.repeated && settlement.ended_by == SettlementStep::kMove;
    if (step_ == SettlementStep::kMove) {
      was_settled_ |= settlement.repeated && !is_moved;
      taken.receipt.amount = settlement.total - taken.receipt.from_grant;
    } else {
      was_moved_ |= is_moved;
      was_settled_ |=
          settlement.repeated && (is_moved || is_partial() || settlement.total != use.cost);
    }
  }
}

bool ReceiptSettlement::is_capped() const {
  return std::any_of(limits_.begin(), limits_.end(),
                     [](const SettledLimit& limit) { return limit.is_capped; });
}

bool ReceiptSettlement::stops() const {
  return std::any_of(limits_.begin(), limits_.end(),
                     [](const SettledLimit& limit) { return limit.stops; });
}

}  // namespace sluice::limiter
