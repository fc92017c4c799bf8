// The functions of Limiter for calls with named quantities.

#include <chrono>
#include <utility>

#include <sluice/limiter.h>

#include "base/clock.h"
#include "base/random.h"
#include "lib/limiter_parts.h"
#include "lib/rules_in_force.h"
#include "limiter/limiter.h"
#include "limiter/settlement.h"
#include "match/refused_cost.h"

namespace sluice {
namespace {

using limiter::CheckRequest;
using limiter::ReceiptContents;
using limiter::ReceiptSettlement;
using limiter::SettlementRefusal;
using store::Operation;

// A reservation that is not extended can be settled for so long.
constexpr Micros kLifetime = std::chrono::hours(1);

ReceiptContents ContentsOf(CheckRequest& check, WallTime now) {
  ReceiptContents contents{
      .expires = now + kLifetime, .first_id = RandomId(), .taken = {}, .is_by_quantity = true};
  for (const UsedQuantity& used : check.GatherQuantities()) {
    contents.used.push_back({std::string(used.name), used.amount});
  }
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    if (!limiter::IsSettleable(check, i)) continue;
    const store::KeyUse& use = check.uses()[i];
    const match::MatchedLimit& matched = check.matched(i);
    limiter::TakenLimit& taken = contents.taken.emplace_back(
        limiter::TakenLimit{.scope = std::string(use.key.scope),
                            .tag = std::string(use.key.tag),
                            .rest = std::string(use.key.rest),
                            .limit = *use.limit,
                            .receipt = use.receipt,
                            .max_settlement = rules::MaxSettlementOf(matched.limit, *use.limit),
                            .scale = matched.limit->scale,
                            .shadow = use.mode == Mode::kShadow,
                            .id = contents.first_id + contents.taken.size()});
    if (matched.count != nullptr) taken.count = *matched.count;
  }
  return contents;
}

Error ErrorOf(const SettlementRefusal& refusal) {
  return {refusal.error, refusal.field + ": " + refusal.detail};
}

SettledUse ResultOf(const ReceiptSettlement& settlement) {
  SettledUse result{.stop = settlement.stops()};
  for (const limiter::SettledLimit& limit : settlement.limits()) {
    result.limits.push_back(
        {limit.rule, limit.name, limit.verdict, limit.settled, limit.is_capped});
  }
  return result;
}

}  // namespace

struct Reservation::Impl {
  ReceiptContents contents;
};

Reservation::Reservation() = default;
Reservation::Reservation(Reservation&&) noexcept = default;
Reservation& Reservation::operator=(Reservation&&) noexcept = default;
Reservation::~Reservation() = default;

Result<RuleDecision> Limiter::Reserve(const Rules& rules, std::span<const Attribute> attributes,
                                      std::span<const UsedQuantity> use, Reservation& reservation) {
  reservation = {};
  RulesOfThread& of_thread = RulesOfThread::For(rules.impl_->live, rules.impl_);
  CheckRequest& check = of_thread.check;
  check.Clear();
  check.SetByQuantity();
  for (const UsedQuantity& quantity : use) check.AddQuantity(quantity.name, quantity.amount);
  impl_->Decide(of_thread, attributes);
  if (check.ruling == Ruling::kInvalid) {
    Error error = ToError(check.error);
    if (check.refusal() != nullptr) error.message = match::Describe(*check.refusal());
    return error;
  }
  if (check.ruling == Ruling::kDecided && check.allowed) {
    ReceiptContents contents = ContentsOf(check, impl_->clock.Now());
    if (!contents.taken.empty()) {
      reservation.impl_ = std::make_unique<Reservation::Impl>();
      reservation.impl_->contents = std::move(contents);
    }
  }
  return RuleDecisionOf(check);
}

Result<std::size_t> Limiter::Impl::RunSettlement(ReceiptSettlement& settlement) const {
  Live<match::RuleSet> no_rules;
  LiveReader<match::RuleSet> reader(no_rules);
  store::Store& store = redis ? static_cast<store::Store&>(*redis) : *memory;
  limiter::Limiter limiter(store, nullptr, reader, settings);
  CheckRequest adjustments;
  CheckRequest slots;
  for (CheckRequest* const check : {&adjustments, &slots}) {
    const bool is_needed =
        check == &adjustments ? settlement.AddAdjustments(*check) : settlement.AddSlots(*check);
    if (!is_needed) continue;
    limiter.Decide(*check, clock.Now());
    if (check->ruling != Ruling::kDecided) return ToError(check->error);
    settlement.TakeResults(*check);
  }
  return settlement.slots();
}

Result<SettledUse> Limiter::Settle(Reservation& reservation, std::span<const UsedQuantity> used) {
  if (reservation.empty()) return SettledUse{};
  ReceiptSettlement settlement(reservation.impl_->contents, store::Settlement::kMaxPerKey);
  SettlementRefusal refusal;
  if (!settlement.SettleUse(used, false, {}, refusal)) return ErrorOf(refusal);
  if (const auto ran = impl_->RunSettlement(settlement); !ran) return ran.error();
  reservation = {};
  return ResultOf(settlement);
}

Result<SettledUse> Limiter::SettlePartially(Reservation& reservation,
                                            std::span<const UsedQuantity> used) {
  if (reservation.empty()) return SettledUse{};
  ReceiptSettlement settlement(reservation.impl_->contents, store::Settlement::kMaxPerKey);
  SettlementRefusal refusal;
  if (!settlement.SettleUse(used, true, {}, refusal)) return ErrorOf(refusal);
  if (const auto ran = impl_->RunSettlement(settlement); !ran) return ran.error();
  return ResultOf(settlement);
}

Result<SettledUse> Limiter::Cancel(Reservation& reservation) {
  if (reservation.empty()) return SettledUse{};
  ReceiptSettlement settlement(reservation.impl_->contents, store::Settlement::kMaxPerKey);
  settlement.Cancel();
  if (const auto ran = impl_->RunSettlement(settlement); !ran) return ran.error();
  reservation = {};
  return ResultOf(settlement);
}

Result<std::size_t> Limiter::Extend(Reservation& reservation) {
  if (reservation.empty()) return std::size_t{0};
  const bool replaces = reservation.impl_->contents.expires - impl_->clock.Now() < kLifetime / 2;
  ReceiptSettlement settlement(reservation.impl_->contents, store::Settlement::kMaxPerKey);
  settlement.Extend(replaces);
  auto slots = impl_->RunSettlement(settlement);
  if (slots && replaces) {
    reservation.impl_->contents = limiter::SuccessorOf(settlement.receipt(), kLifetime);
  }
  return slots;
}

}  // namespace sluice
