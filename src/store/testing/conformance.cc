#include "store/testing/conformance.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/limiter.h>

#include "algo/state.h"
#include "store/testing/client.h"

namespace sluice::store::testing {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Early in a minute, an hour and a day, long after the epoch.
constexpr Micros kStart = hours(24) * 20'000;

Limit TenPerSecond() {
  return Limit::TokenBucket({.capacity = 10, .refill = Rate::PerSecond(10)}).value();
}

Limit FivePerMinute() { return Limit::FixedWindow({.limit = 5, .window = seconds(60)}).value(); }

Limit ThreeSlots() { return Limit::Concurrency({.limit = 3, .time_to_live = seconds(10)}).value(); }

Outcome OutcomeOf(const KeyUse& use) { return use.verdict.outcome; }

Settlement SettlementOf(std::uint64_t receipt, Micros expires, std::uint32_t max_per_key = 100) {
  return {.receipt = receipt, .expires = WallTime{expires}, .max_per_key = max_per_key};
}

/// One limit of 10 of each algorithm that has settlements, by name.
std::vector<std::pair<std::string, Limit>> MeteredLimits() {
  return {
      {"bucket", Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}).value()},
      {"leaky", Limit::LeakyBucket({.capacity = 10, .leak = Rate::PerHour(1)}).value()},
      {"window", Limit::FixedWindow({.limit = 10, .window = hours(1)}).value()},
      {"first hit",
       Limit::FixedWindow({.limit = 10, .window = hours(1), .anchor = Anchor::kFirstHit}).value()},
      {"month", Limit::FixedWindow({.limit = 10, .anchor = Anchor::kMonth}).value()},
      {"log", Limit::SlidingWindowLog({.limit = 10, .window = hours(1)}).value()},
      {"counter", Limit::SlidingWindowCounter({.limit = 10, .window = hours(1)}).value()}};
}

// ---- Buckets

void AFullBucketHoldsItsCapacityAndNotOneMore(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart);
  for (int i = 9; i >= 0; --i) EXPECT_EQ(client.Check(limit, "k").verdict.remaining, i);
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k")), Outcome::kDenied);
  client.At(kStart + hours(1000));
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k", 10)), Outcome::kAllowed);
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k")), Outcome::kDenied);
}

void ADenialTellsExactlyWhenToComeBack(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart).Check(limit, "k", 10);
  const KeyUse denied = client.At(kStart + Micros{1}).Check(limit, "k", 3);
  EXPECT_EQ(denied.verdict.retry_after, milliseconds(300) - Micros{1});
  EXPECT_EQ(denied.verdict.reset_after, seconds(1) - Micros{1});
  client.At(kStart + milliseconds(300) - Micros{1});
  EXPECT_EQ(client.Check(limit, "k", 3).verdict.retry_after, Micros{1});
  client.At(kStart + milliseconds(300));
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k", 3)), Outcome::kAllowed);
}

void StepsArriveAtMultiplesOfTheInterval(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit =
      Limit::TokenBucket(
          {.capacity = 10, .refill = Rate::PerSecond(2), .refill_interval = seconds(1)})
          .value();
  client.At(kStart + milliseconds(900)).Check(limit, "k", 10);
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after, milliseconds(100));
  client.At(kStart + milliseconds(999));
  EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 0);
  client.At(kStart + seconds(1));
  EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 2);
}

void ALeakyBucketSpacesItsCallers(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = Limit::LeakyBucket({.capacity = 3, .leak = Rate::PerSecond(10)}).value();
  client.At(kStart);
  EXPECT_EQ(client.Check(limit, "k").verdict.delay, Micros{0});
  EXPECT_EQ(client.Check(limit, "k").verdict.delay, milliseconds(100));
  EXPECT_EQ(client.Check(limit, "k").verdict.delay, milliseconds(200));
  const KeyUse denied = client.Check(limit, "k");
  EXPECT_EQ(OutcomeOf(denied), Outcome::kDenied);
  EXPECT_EQ(denied.verdict.delay, Micros{0});
  EXPECT_EQ(denied.verdict.retry_after, milliseconds(100));
}

// ---- Windows

void AWindowIsFullUntilTheNextOneBegins(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  client.At(kStart + seconds(59));
  EXPECT_EQ(client.Check(limit, "k", 5).verdict.reset_after, seconds(1));
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after, seconds(1));
  client.At(kStart + seconds(60));
  EXPECT_EQ(client.Check(limit, "k", 5).verdict.remaining, 0);
}

void TheFirstCallStartsItsOwnWindow(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit =
      Limit::FixedWindow({.limit = 2, .window = seconds(60), .anchor = Anchor::kFirstHit}).value();
  client.At(kStart + seconds(30));
  EXPECT_EQ(client.Check(limit, "k", 0).verdict.reset_after, Micros{0});
  client.At(kStart + seconds(45)).Check(limit, "k", 2);
  client.At(kStart + seconds(104));
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after, seconds(1));
  client.At(kStart + seconds(105));
  EXPECT_EQ(client.Check(limit, "k").verdict.reset_after, seconds(60));
}

void AMonthBeginsOnItsFirstDay(Driver& driver) {
  using namespace std::chrono_literals;
  Client client(driver, __func__);
  const Limit limit = Limit::FixedWindow({.limit = 1, .anchor = Anchor::kMonth}).value();
  const std::chrono::sys_days leap_day = 2024y / 2 / 29;
  client.At(leap_day.time_since_epoch()).Check(limit, "k");
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after, hours(24));
  client.At(leap_day.time_since_epoch() + hours(24));
  EXPECT_EQ(client.Check(limit, "k").verdict.reset_after, hours(24) * 31);
}

void ALogForgetsEachCallAfterTheWindow(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = Limit::SlidingWindowLog({.limit = 3, .window = seconds(10)}).value();
  client.At(kStart).Check(limit, "k");
  client.At(kStart + seconds(4)).Check(limit, "k", 2);
  client.At(kStart + seconds(9));
  EXPECT_EQ(client.Check(limit, "k", 1).verdict.retry_after, seconds(1));
  EXPECT_EQ(client.Check(limit, "k", 2).verdict.retry_after, seconds(5));
  EXPECT_EQ(client.Check(limit, "k", 2).verdict.reset_after, seconds(5));
  client.At(kStart + seconds(10));
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k", 1)), Outcome::kAllowed);
}

void ACounterWeighsTheWindowBefore(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = Limit::SlidingWindowCounter({.limit = 10, .window = seconds(10)}).value();
  client.At(kStart).Check(limit, "k", 10);
  client.At(kStart + seconds(14));
  EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 4);
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k", 4)), Outcome::kAllowed);
  // floor(10 · (10 s − e) / 10 s) falls to 5 a microsecond after e = 4 s.
  EXPECT_EQ(client.Check(limit, "k", 1).verdict.retry_after, Micros{1});
  EXPECT_EQ(client.Check(limit, "k", 2).verdict.retry_after, seconds(1) + Micros{1});
}

// ---- Slots

void ASlotIsFreeAgainWhenItIsReleasedOrTooOld(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = ThreeSlots();
  const Receipt first = client.At(kStart).Check(limit, "k", 2).receipt;
  const Receipt second = client.At(kStart + seconds(5)).Check(limit, "k").receipt;
  EXPECT_NE(first.slot, second.slot);
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after, seconds(5));
  EXPECT_EQ(client.Release(limit, "k", second.slot), 1u);
  EXPECT_EQ(client.Release(limit, "k", second.slot), 0u);
  EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 1);
  client.At(kStart + seconds(10));
  EXPECT_EQ(client.Release(limit, "k", first.slot), 0u);
  EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 3);
}

void ARenewedSlotLivesOn(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = ThreeSlots();
  const std::uint64_t slot = client.At(kStart).Check(limit, "k", 3).receipt.slot;
  client.At(kStart + seconds(9));
  EXPECT_EQ(client.Renew(limit, "k", slot), 1u);
  EXPECT_EQ(client.Renew(limit, "k", slot + 1), 0u);
  client.At(kStart + seconds(18));
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after, seconds(1));
  client.At(kStart + seconds(19));
  EXPECT_EQ(client.Renew(limit, "k", slot), 0u);
}

void ASlotThatIsHeldIsNotTakenTwice(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = ThreeSlots();
  KeyUse use = client.UseOf(limit, "k", 3);
  use.slot = 42;
  EXPECT_EQ(client.At(kStart).Check(use).receipt.amount, 3);
  const KeyUse again = client.At(kStart + seconds(9)).Check(use);
  EXPECT_EQ(OutcomeOf(again), Outcome::kAllowed);
  EXPECT_EQ(again.receipt.amount, 0);
  EXPECT_EQ(again.receipt.slot, 42u);
  EXPECT_EQ(again.verdict.reset_after, seconds(10));
}

// ---- Costs

void ACostOfZeroLooksAndIsNeverDenied(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart).Check(limit, "k", 10);
  const KeyUse look = client.Check(limit, "k", 0);
  EXPECT_EQ(OutcomeOf(look), Outcome::kAllowed);
  EXPECT_EQ(look.receipt, Receipt{});
  EXPECT_EQ(look.verdict.remaining, 0);
}

void ACostThatNeverFitsSaysSo(Driver& driver) {
  Client client(driver, __func__);
  client.At(kStart);
  const KeyUse use = client.Check(TenPerSecond(), "k", 11);
  EXPECT_EQ(OutcomeOf(use), Outcome::kNeverFits);
  EXPECT_EQ(use.verdict.retry_after, kMaxWait);
  EXPECT_EQ(use.verdict.remaining, 10);
}

void APeekTakesNothing(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart);
  EXPECT_EQ(OutcomeOf(client.Peek(limit, "k", 10)), Outcome::kAllowed);
  EXPECT_EQ(client.Peek(limit, "k", 10).receipt, Receipt{});
  EXPECT_FALSE(client.Inspect(limit, "k").live);
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k", 10)), Outcome::kAllowed);
}

void AnInspectionKnowsTheWindowThatTheKeyWasUsedWith(Driver& driver) {
  Client client(driver, __func__);
  const auto window = [](std::int64_t limit, Micros length) {
    return Limit::FixedWindow({.limit = limit, .window = length, .anchor = Anchor::kFirstHit})
        .value();
  };
  const Limit asked = window(kMaxAmount, seconds(1));
  EXPECT_EQ(client.At(kStart).Inspect(asked, "k").fresh_after, Micros{0});
  client.Check(window(10, seconds(60)), "k", 4);
  const Inspection inspection = client.At(kStart + seconds(20)).Inspect(asked, "k");
  EXPECT_EQ(inspection.fresh_after, seconds(40));
  EXPECT_EQ(kMaxAmount - inspection.level, 4);
  EXPECT_EQ(client.At(kStart + seconds(60)).Inspect(asked, "k").fresh_after, Micros{0});
}

void AFirstHitWindowTakesARefundWithoutAReceipt(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit =
      Limit::FixedWindow({.limit = 5, .window = seconds(60), .anchor = Anchor::kFirstHit}).value();
  client.At(kStart).Check(limit, "k", 5);
  client.At(kStart + seconds(20));
  const KeyUse use = client.Settle(limit, "k", {.amount = 2, .at = kMaxTime}, 0);
  EXPECT_EQ(use.verdict.remaining, 2);
  EXPECT_EQ(use.verdict.reset_after, seconds(40));
  EXPECT_EQ(client.Settle(limit, "new", {.amount = 2, .at = kMaxTime}, 0).verdict.remaining, 5);
}

// ---- Several limits

void SeveralLimitsTakeAllOrNothing(Driver& driver) {
  Client client(driver, __func__);
  const Limit loose = TenPerSecond();
  const Limit tight = FivePerMinute();
  client.At(kStart);
  std::vector<KeyUse> uses = {client.UseOf(loose, "a", 4), client.UseOf(tight, "b", 4)};
  EXPECT_TRUE(client.CheckAll(uses));
  EXPECT_EQ(uses[0].verdict.remaining, 6);
  EXPECT_EQ(uses[1].verdict.remaining, 1);
  EXPECT_FALSE(client.CheckAll(uses));
  EXPECT_EQ(OutcomeOf(uses[0]), Outcome::kAllowed);
  EXPECT_EQ(uses[0].verdict.remaining, 6);
  EXPECT_EQ(uses[0].receipt, Receipt{});
  EXPECT_EQ(OutcomeOf(uses[1]), Outcome::kDenied);
  EXPECT_EQ(client.Peek(loose, "a", 0).verdict.remaining, 6);
}

void TwoUsesOfOneKeySeeEachOther(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart);
  std::vector<KeyUse> uses = {client.UseOf(limit, "k", 6), client.UseOf(limit, "k", 5)};
  EXPECT_FALSE(client.CheckAll(uses));
  EXPECT_EQ(OutcomeOf(uses[0]), Outcome::kAllowed);
  EXPECT_EQ(OutcomeOf(uses[1]), Outcome::kNeverFits);
  uses[1].cost = 4;
  EXPECT_TRUE(client.CheckAll(uses));
  EXPECT_EQ(uses[0].verdict.remaining, 4);
  EXPECT_EQ(uses[1].verdict.remaining, 0);
}

void AShadowNeverDenies(Driver& driver) {
  Client client(driver, __func__);
  const Limit enforced = TenPerSecond();
  const Limit shadow = FivePerMinute();
  client.At(kStart);
  std::vector<KeyUse> uses = {client.UseOf(enforced, "a", 3), client.UseOf(shadow, "b", 3)};
  uses[1].mode = Mode::kShadow;
  EXPECT_TRUE(client.CheckAll(uses));
  EXPECT_EQ(uses[1].receipt.amount, 3);
  EXPECT_TRUE(client.CheckAll(uses));
  EXPECT_EQ(OutcomeOf(uses[1]), Outcome::kDenied);
  EXPECT_EQ(uses[1].receipt, Receipt{});
  EXPECT_EQ(client.Peek(shadow, "b", 0).verdict.remaining, 2);
  uses[1].cost = 1;
  EXPECT_TRUE(client.CheckAll(uses));
  EXPECT_FALSE(client.CheckAll(uses));
  EXPECT_EQ(client.Peek(shadow, "b", 0).verdict.remaining, 1);
}

void AForcedChargeGoesBelowZero(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart);
  KeyUse use = client.UseOf(limit, "k", 25);
  use.mode = Mode::kForce;
  const KeyUse charged = client.Check(use);
  EXPECT_EQ(OutcomeOf(charged), Outcome::kAllowed);
  EXPECT_EQ(charged.verdict.remaining, 0);
  EXPECT_EQ(charged.receipt.amount, 25);
  EXPECT_EQ(client.Inspect(limit, "k").level, -15);
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after, milliseconds(1600));
}

void QuotasDenyOnlyTogether(Driver& driver) {
  Client client(driver, __func__);
  const Limit five = FivePerMinute();
  const Limit ten = TenPerSecond();
  client.At(kStart).Check(five, "a", 4);
  std::vector<KeyUse> uses = {client.UseOf(five, "a", 3), client.UseOf(five, "b", 3),
                              client.UseOf(ten, "c", 3)};
  uses[0].mode = uses[1].mode = Mode::kQuota;
  EXPECT_TRUE(client.CheckAll(uses));
  EXPECT_EQ(OutcomeOf(uses[0]), Outcome::kDenied);
  EXPECT_EQ(uses[0].receipt, Receipt{});
  EXPECT_EQ(uses[1].verdict.remaining, 2);
  EXPECT_EQ(uses[2].verdict.remaining, 7);
  EXPECT_FALSE(client.CheckAll(uses));
  EXPECT_EQ(OutcomeOf(uses[1]), Outcome::kDenied);
  EXPECT_EQ(uses[2].verdict.remaining, 7);
}

void AnEnforcedLimitDeniesWhateverQuotasSay(Driver& driver) {
  Client client(driver, __func__);
  const Limit five = FivePerMinute();
  client.At(kStart).Check(five, "a", 5);
  std::vector<KeyUse> uses = {client.UseOf(five, "a", 1), client.UseOf(five, "b", 1)};
  uses[1].mode = Mode::kQuota;
  EXPECT_FALSE(client.CheckAll(uses));
  EXPECT_EQ(uses[1].verdict.remaining, 5);
}

void ALookDeniesAndTakesNothing(Driver& driver) {
  Client client(driver, __func__);
  const Limit five = FivePerMinute();
  client.At(kStart).Check(five, "a", 4);
  std::vector<KeyUse> uses = {client.UseOf(five, "a", 1), client.UseOf(five, "b", 1)};
  uses[0].only_looks = true;
  EXPECT_TRUE(client.CheckAll(uses));
  EXPECT_EQ(uses[0].verdict.remaining, 1);
  EXPECT_EQ(uses[0].receipt, Receipt{.at = uses[1].receipt.at});
  EXPECT_EQ(uses[1].verdict.remaining, 4);
  client.Check(five, "a", 1);
  EXPECT_FALSE(client.CheckAll(uses));
  EXPECT_EQ(OutcomeOf(uses[0]), Outcome::kDenied);
  EXPECT_EQ(uses[1].verdict.remaining, 4);
}

void ACountedDenialTakesWhatIsLeft(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  client.At(kStart).Check(limit, "k", 2);
  KeyUse use = client.UseOf(limit, "k", 4);
  use.count_denied = true;
  const KeyUse denied = client.Check(use);
  EXPECT_EQ(OutcomeOf(denied), Outcome::kDenied);
  EXPECT_EQ(denied.receipt.amount, 3);
  EXPECT_EQ(denied.verdict.remaining, 0);
}

// ---- Grants, refunds, settlements

void AGrantIsSpentFirstAndMayExceedTheCap(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  client.At(kStart);
  EXPECT_EQ(client.Grant(limit, "k", 7).verdict.remaining, 12);
  EXPECT_EQ(OutcomeOf(client.Peek(limit, "k", 13)), Outcome::kNeverFits);
  const KeyUse use = client.Check(limit, "k", 9);
  EXPECT_EQ(use.receipt.from_grant, 7);
  EXPECT_EQ(use.receipt.amount, 2);
  client.At(kStart + seconds(60));
  EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 5);
}

void AGrantPaysForAKeyInDebt(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  KeyUse use = client.UseOf(limit, "k", 30);
  use.mode = Mode::kForce;
  client.At(kStart).Check(use);
  client.Grant(limit, "k", 2);
  EXPECT_EQ(client.Check(limit, "k", 2).receipt.from_grant, 2);
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k", 1)), Outcome::kDenied);
}

void ARefundGoesToTheWindowItCameFrom(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  const Receipt receipt = client.At(kStart).Check(limit, "k", 3).receipt;
  EXPECT_EQ(receipt.at, WallTime{kStart});
  EXPECT_EQ(client.Settle(limit, "k", receipt, 0).verdict.remaining, 5);
  const Receipt late = client.Check(limit, "k", 3).receipt;
  client.At(kStart + seconds(60)).Check(limit, "k", 2);
  EXPECT_EQ(client.Settle(limit, "k", late, 0).verdict.remaining, 3);
}

void ARefundNeverOverfills(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  const Receipt receipt = client.At(kStart).Check(limit, "k", 8).receipt;
  client.At(kStart + milliseconds(700));
  EXPECT_EQ(client.Settle(limit, "k", receipt, 0).verdict.remaining, 10);
}

void ASettlementChargesOrGivesBackTheDifference(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  client.At(kStart);
  const Receipt less = client.Check(limit, "k", 3).receipt;
  EXPECT_EQ(client.Settle(limit, "k", less, 1).verdict.remaining, 4);
  const Receipt more = client.Check(limit, "k", 1).receipt;
  EXPECT_EQ(client.Settle(limit, "k", more, 9).verdict.remaining, 0);
  EXPECT_EQ(client.Inspect(limit, "k").level, -5);
}

void AReceiptIsGivenBackOnceHoweverOftenItIsCancelled(Driver& driver) {
  Client client(driver, __func__);
  for (const Limit& limit :
       {FivePerMinute(), Limit::TokenBucket({.capacity = 5, .refill = Rate::PerHour(1)}).value(),
        Limit::SlidingWindowLog({.limit = 5, .window = seconds(60)}).value(),
        Limit::SlidingWindowCounter({.limit = 5, .window = seconds(60)}).value()}) {
    const std::string name = AlgorithmName(limit.algorithm());
    const Receipt receipt = client.At(kStart).Check(limit, name, 1).receipt;
    client.Check(limit, name, 4);
    for (int i = 0; i < 20; ++i) {
      Settlement settlement = SettlementOf(7, kStart + hours(1));
      EXPECT_EQ(client.Settle(limit, name, receipt, 0, settlement).verdict.remaining, 1) << name;
      EXPECT_EQ(settlement.total, 0);
      EXPECT_EQ(settlement.repeated, i > 0);
    }
  }
}

void TheFirstTotalOfAReceiptHolds(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  const Receipt receipt = client.At(kStart).Check(limit, "k", 5).receipt;
  bool is_first = true;
  for (const std::int64_t cost : {3, 9, 0, 3}) {
    Settlement settlement = SettlementOf(~std::uint64_t{0}, kStart + hours(1));
    EXPECT_EQ(client.Settle(limit, "k", receipt, cost, settlement).verdict.remaining, 7);
    EXPECT_EQ(settlement.total, 3);
    EXPECT_EQ(settlement.repeated, !std::exchange(is_first, false));
  }
  Settlement other_receipt = SettlementOf(1, kStart + hours(1));
  EXPECT_EQ(client.Settle(limit, "k", receipt, 4, other_receipt).verdict.remaining, 8);
  EXPECT_FALSE(other_receipt.repeated);
  Settlement other_key = SettlementOf(1, kStart + hours(1));
  client.Settle(limit, "other", receipt, 4, other_key);
  EXPECT_FALSE(other_key.repeated);
}

// Of all algorithms, because each charges in its own way.
void AChargeAfterALookCounts(Driver& driver) {
  Client client(driver, __func__);
  client.At(kStart);
  for (const auto& [name, limit] : MeteredLimits()) {
    KeyUse use = client.UseOf(limit, name, 1);
    use.only_looks = true;
    const Receipt receipt = client.Check(use).receipt;
    EXPECT_EQ(receipt.amount, 0) << name;
    EXPECT_EQ(client.Settle(limit, name, receipt, 4).verdict.remaining, 6) << name;
  }
}

void PartialSettlementsRaiseTheChargeAndAFinalOneCorrectsIt(Driver& driver) {
  Client client(driver, __func__);
  client.At(kStart);
  for (const auto& [name, limit] : MeteredLimits()) {
    const Receipt receipt = client.Check(limit, name, 3).receipt;
    const auto settle = [&](std::int64_t cost, SettlementStep step) {
      Settlement settlement = SettlementOf(7, kStart + hours(1));
      settlement.step = step;
      const std::int64_t remaining =
          client.Settle(limit, name, receipt, cost, settlement).verdict.remaining;
      EXPECT_EQ(settlement.repeated, settlement.total != cost && step == SettlementStep::kFinal);
      return std::pair(remaining, settlement.total);
    };
    using Result = std::pair<std::int64_t, std::int64_t>;
    EXPECT_EQ(settle(2, SettlementStep::kPartial), Result(7, 3)) << name << ": reserved stays";
    EXPECT_EQ(settle(6, SettlementStep::kPartial), Result(4, 6)) << name;
    EXPECT_EQ(settle(6, SettlementStep::kPartial), Result(4, 6)) << name << ": once";
    EXPECT_EQ(settle(5, SettlementStep::kPartial), Result(4, 6)) << name << ": out of order";
    EXPECT_EQ(settle(4, SettlementStep::kFinal), Result(6, 4)) << name;
    EXPECT_EQ(settle(0, SettlementStep::kFinal), Result(6, 4)) << name << ": once";
  }
}

void NothingFollowsAFinalSettlementOrAMove(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  const Receipt receipt = client.At(kStart).Check(limit, "k", 3).receipt;
  for (const SettlementStep last : {SettlementStep::kFinal, SettlementStep::kMove}) {
    const std::uint64_t id = last == SettlementStep::kFinal ? 1 : 2;
    Settlement end = SettlementOf(id, kStart + hours(1));
    end.step = last;
    const std::int64_t remaining = client.Settle(limit, "k", receipt, 3, end).verdict.remaining;
    EXPECT_FALSE(end.repeated);
    EXPECT_EQ(end.total, 3);
    for (const SettlementStep step :
         {SettlementStep::kFinal, SettlementStep::kPartial, SettlementStep::kMove}) {
      Settlement later = SettlementOf(id, kStart + hours(1));
      later.step = step;
      EXPECT_EQ(client.Settle(limit, "k", receipt, 9, later).verdict.remaining, remaining);
      EXPECT_TRUE(later.repeated);
      EXPECT_EQ(later.total, 3);
      EXPECT_EQ(later.ended_by, last);
    }
  }
}

void WhatWasSettledIsForgottenWhenItExpires(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}).value();
  const Receipt receipt = client.At(kStart).Check(limit, "k", 5).receipt;
  const Micros expires = kStart + seconds(60);
  Settlement first = SettlementOf(1, expires, 1);
  EXPECT_EQ(client.Settle(limit, "k", receipt, 4, first).verdict.remaining, 6);
  client.At(expires - Micros{1});
  Settlement last = SettlementOf(1, expires, 1);
  EXPECT_EQ(client.Settle(limit, "k", receipt, 0, last).verdict.remaining, 6);
  EXPECT_TRUE(last.repeated);
  client.At(expires);
  Settlement expired = SettlementOf(1, expires, 1);
  EXPECT_EQ(client.Settle(limit, "k", receipt, 0, expired).verdict.remaining, 6)
      << "an expired receipt changes nothing";
  Settlement next = SettlementOf(2, expires + seconds(60), 1);
  EXPECT_EQ(client.Settle(limit, "k", receipt, 4, next).verdict.remaining, 7)
      << "and what expired makes room";
}

void AKeyThatRemembersTooManyReceiptsGivesNothingBack(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  const Receipt receipt = client.At(kStart).Check(limit, "k", 10).receipt;
  std::vector<Settlement> settlements;
  for (std::uint64_t i = 1; i <= 4; ++i)
    settlements.push_back(SettlementOf(i, kStart + hours(1), 3));
  client.Settle(limit, "k", receipt, 9, settlements[0]);
  client.Settle(limit, "k", receipt, 9, settlements[1]);
  KeyUse use = client.UseOf(limit, "k", 9);
  use.receipt = receipt;
  std::vector<KeyUse> uses(2, use);
  uses[0].settlement = &settlements[2];
  uses[1].settlement = &settlements[3];
  const StoreCall call = client.Run(Operation::kAdjust, uses);
  EXPECT_FALSE(call.ok);
  EXPECT_EQ(call.error, ErrorCode::kTooManySettlements);
  EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 2) << "all or nothing";
  Settlement again = SettlementOf(2, kStart + hours(1), 2);
  client.Settle(limit, "k", receipt, 9, again);
  EXPECT_TRUE(again.repeated) << "what is remembered is answered";
}

void AResetForgetsNoSettlement(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  const Receipt receipt = client.At(kStart).Check(limit, "k", 2).receipt;
  Settlement first = SettlementOf(1, kStart + hours(1));
  client.Settle(limit, "k", receipt, 0, first);
  client.Reset(limit, "k");
  client.Check(limit, "k", 4);
  Settlement again = SettlementOf(1, kStart + hours(1));
  EXPECT_EQ(client.Settle(limit, "k", receipt, 0, again).verdict.remaining, 1);
}

void ARefundGivesGrantsBackLast(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  client.At(kStart).Grant(limit, "k", 2);
  const Receipt receipt = client.Check(limit, "k", 5).receipt;
  client.Settle(limit, "k", receipt, 1);
  const Inspection inspection = client.Inspect(limit, "k");
  EXPECT_EQ(inspection.level, 5);
  EXPECT_EQ(inspection.grant, 1);
}

void AGrantThatExpiresIsSpentFirstAndEndsOnTime(Driver& driver) {
  for (const Limit& limit : {FivePerMinute(), TenPerSecond()}) {
    Client client(driver, std::string(__func__) + std::to_string(limit.cap()));
    const WallTime end = client.At(kStart).now() + std::chrono::seconds(30);
    const std::int64_t cap = limit.cap();
    client.Grant(limit, "k", 2);
    EXPECT_EQ(client.Grant(limit, "k", 10, end).verdict.remaining, cap + 12);
    const KeyUse use = client.Check(limit, "k", 4);
    EXPECT_EQ(use.receipt.from_grant, 4);
    EXPECT_EQ(use.receipt.grant_expires, end);
    const Inspection inspection = client.Inspect(limit, "k");
    EXPECT_EQ(inspection.grant, 8);
    EXPECT_EQ(inspection.expiring_grant, 6);
    EXPECT_EQ(inspection.grant_expires, end);
    client.At(end.time_since_epoch() - Micros{1});
    EXPECT_EQ(client.Inspect(limit, "k").grant, 8);
    client.At(end.time_since_epoch());
    EXPECT_EQ(client.Inspect(limit, "k").grant, 2);
    EXPECT_EQ(client.Check(limit, "k", 2).receipt.grant_expires, WallTime{});
    EXPECT_EQ(client.Inspect(limit, "k").grant, 0);
  }
}

void AKeyWithNothingButAnExpiredGrantIsFresh(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  const WallTime end = client.At(kStart).now() + std::chrono::seconds(1);
  client.Grant(limit, "k", 10, end);
  EXPECT_TRUE(client.Inspect(limit, "k").live);
  client.At(end.time_since_epoch());
  EXPECT_FALSE(client.Inspect(limit, "k").live);
  EXPECT_EQ(client.Reset(limit, "k"), 0u);
  EXPECT_EQ(client.Grant(limit, "k", 10, end).verdict.remaining, 5) << "it is over already";
}

void TwoGrantsThatExpireEndWithTheEarlier(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  const WallTime soon = client.At(kStart).now() + std::chrono::seconds(10);
  const WallTime later = soon + std::chrono::seconds(10);
  client.Grant(limit, "k", 3, later);
  EXPECT_EQ(client.Grant(limit, "k", 4, soon).receipt.grant_expires, soon);
  EXPECT_EQ(client.Grant(limit, "k", 5, later).receipt.grant_expires, soon);
  EXPECT_EQ(client.Inspect(limit, "k").grant, 12);
  client.At(soon.time_since_epoch());
  EXPECT_EQ(client.Inspect(limit, "k").grant, 0);
  EXPECT_EQ(client.Grant(limit, "k", 5, later).receipt.grant_expires, later);
}

void ARefundOfAGrantThatHasExpiredIsLost(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  const WallTime end = client.At(kStart).now() + std::chrono::seconds(10);
  client.Grant(limit, "k", 4, end);
  const Receipt receipt = client.Check(limit, "k", 4).receipt;
  client.Settle(limit, "k", receipt, 3);
  EXPECT_EQ(client.Inspect(limit, "k").expiring_grant, 1) << "it ends when the grant would have";
  client.At(end.time_since_epoch());
  client.Settle(limit, "k", receipt, 0);
  EXPECT_EQ(client.Inspect(limit, "k").grant, 0);
  EXPECT_EQ(client.Inspect(limit, "k").level, 5);
}

void AnotherAlgorithmKeepsAGrantThatExpires(Driver& driver) {
  Client client(driver, __func__);
  const WallTime end = client.At(kStart).now() + std::chrono::seconds(10);
  const Limit log = *Limit::SlidingWindowLog({.limit = 5, .window = std::chrono::minutes(1)});
  client.Grant(TenPerSecond(), "k", 3, end);
  EXPECT_EQ(client.Check(log, "k", 1).receipt.grant_expires, end);
  EXPECT_EQ(client.Grant(log, "k", 5, end).verdict.remaining, 12);
  EXPECT_EQ(client.Inspect(log, "k").expiring_grant, 7);
  client.At(end.time_since_epoch());
  EXPECT_EQ(client.Check(log, "k", 1).verdict.remaining, 4);
}

// ---- What a key is

void AResetForgetsEverything(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart).Check(limit, "k", 10);
  client.Grant(limit, "k", 5);
  EXPECT_EQ(client.Reset(limit, "k"), 1u);
  EXPECT_EQ(client.Reset(limit, "k"), 0u);
  EXPECT_FALSE(client.Inspect(limit, "k").live);
  EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 10);
}

void KeysThatDifferInOnePartAreDifferent(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = FivePerMinute();
  client.At(kStart);
  const std::vector<Key> keys = {{"r:a", "b", "c"},  {"r:a", "bc", ""},  {"r:a", "", "bc"},
                                 {"r:ab", "", "c"},  {"r:ab", "c", ""},  {"r:a", "b", "c%00"},
                                 {"r:a", "b:c", ""}, {"r:a", "{b}", "c"}};
  for (const Key& key : keys) {
    KeyUse use = client.UseOf(limit, "", 5);
    use.key = key;
    EXPECT_EQ(OutcomeOf(client.Check(use)), Outcome::kAllowed)
        << key.scope << '|' << key.tag << '|' << key.rest;
  }
}

void ChangedNumbersKeepWhatIsLeft(Driver& driver) {
  Client client(driver, __func__);
  const Limit before = TenPerSecond();
  const Limit after = Limit::TokenBucket({.capacity = 100, .refill = Rate::PerSecond(1)}).value();
  client.At(kStart).Check(before, "k", 8);
  EXPECT_EQ(client.Peek(after, "k", 0).verdict.remaining, 2);
  EXPECT_EQ(client.Peek(before, "k", 0).verdict.remaining, 2);
  client.At(kStart + milliseconds(500)).Check(after, "k", 1);
  EXPECT_EQ(client.Peek(after, "k", 0).verdict.remaining, 1);
}

void AnotherAlgorithmStartsFreshAndKeepsTheGrant(Driver& driver) {
  Client client(driver, __func__);
  client.At(kStart).Check(TenPerSecond(), "k", 8);
  client.Grant(TenPerSecond(), "k", 3);
  EXPECT_EQ(client.Peek(FivePerMinute(), "k", 0).verdict.remaining, 8);
}

// ---- Clocks

void AClockThatIsALittleBehindChangesNothing(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart).Check(limit, "k", 10);
  client.At(kStart - algo::kClockTolerance);
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after,
            algo::kClockTolerance + milliseconds(100));
  client.At(kStart + milliseconds(100));
  EXPECT_EQ(client.Check(limit, "k").verdict.remaining, 0);
}

void AKeyGoesOnFromAClockThatWasSetBack(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = TenPerSecond();
  client.At(kStart).Check(limit, "k", 10);
  client.At(kStart - hours(1));
  EXPECT_EQ(client.Check(limit, "k").verdict.retry_after, milliseconds(100));
  client.At(kStart - hours(1) + milliseconds(100));
  EXPECT_EQ(OutcomeOf(client.Check(limit, "k")), Outcome::kAllowed);
}

// ---- Calls that make no sense

void ExpectRefused(Client& client, Operation operation, std::vector<KeyUse> uses, ErrorCode error) {
  const StoreCall call = client.Run(operation, uses);
  EXPECT_FALSE(call.ok);
  EXPECT_STREQ(ErrorName(call.error), ErrorName(error));
}

void CallsThatMakeNoSenseAreRefusedWhole(Driver& driver) {
  Client client(driver, __func__);
  const Limit bucket = TenPerSecond();
  const Limit slots = ThreeSlots();
  client.At(kStart);
  const KeyUse good = client.UseOf(bucket, "k", 1);
  ExpectRefused(client, Operation::kCheck, {good, client.UseOf(bucket, "j", -1)},
                ErrorCode::kInvalidCost);
  ExpectRefused(client, Operation::kGrant, {good, client.UseOf(bucket, "j", 0)},
                ErrorCode::kInvalidCost);
  ExpectRefused(client, Operation::kGrant, {good, client.UseOf(slots, "s", 1)},
                ErrorCode::kNotSupported);
  ExpectRefused(client, Operation::kAdjust, {good, client.UseOf(slots, "s", 1)},
                ErrorCode::kNotSupported);
  ExpectRefused(client, Operation::kRelease, {good}, ErrorCode::kNotSupported);
  ExpectRefused(client, Operation::kRenew, {good}, ErrorCode::kNotSupported);
  ExpectRefused(client, Operation::kCheck, std::vector<KeyUse>(kMaxLimitsPerCall + 1, good),
                ErrorCode::kTooManyLimits);
  ExpectRefused(client, Operation::kCheck, {good, client.UseOf(slots, "k")},
                ErrorCode::kInvalidLimit);
  const std::string long_name(kMaxKeyBytes + 1, 'x');
  ExpectRefused(client, Operation::kCheck, {good, client.UseOf(bucket, long_name)},
                ErrorCode::kInvalidKey);
  EXPECT_FALSE(client.Inspect(bucket, "k").live);
}

void TheLargestCallsAreAnswered(Driver& driver) {
  Client client(driver, __func__);
  const Limit limit = Limit::FixedWindow({.limit = 1000, .window = seconds(60)}).value();
  const std::string long_name(kMaxKeyBytes, 'x');
  client.At(kStart);
  std::vector<KeyUse> uses(kMaxLimitsPerCall, client.UseOf(limit, long_name));
  EXPECT_TRUE(client.CheckAll(uses));
  EXPECT_EQ(client.Peek(limit, long_name, 0).verdict.remaining,
            1000 - static_cast<std::int64_t>(kMaxLimitsPerCall));
}

#define SLUICE_CASE(name) {#name, name}

constexpr ConformanceCase kCases[] = {
    SLUICE_CASE(AFullBucketHoldsItsCapacityAndNotOneMore),
    SLUICE_CASE(ADenialTellsExactlyWhenToComeBack),
    SLUICE_CASE(StepsArriveAtMultiplesOfTheInterval),
    SLUICE_CASE(ALeakyBucketSpacesItsCallers),
    SLUICE_CASE(AWindowIsFullUntilTheNextOneBegins),
    SLUICE_CASE(TheFirstCallStartsItsOwnWindow),
    SLUICE_CASE(AMonthBeginsOnItsFirstDay),
    SLUICE_CASE(ALogForgetsEachCallAfterTheWindow),
    SLUICE_CASE(ACounterWeighsTheWindowBefore),
    SLUICE_CASE(ASlotIsFreeAgainWhenItIsReleasedOrTooOld),
    SLUICE_CASE(ARenewedSlotLivesOn),
    SLUICE_CASE(ASlotThatIsHeldIsNotTakenTwice),
    SLUICE_CASE(ACostOfZeroLooksAndIsNeverDenied),
    SLUICE_CASE(ACostThatNeverFitsSaysSo),
    SLUICE_CASE(APeekTakesNothing),
    SLUICE_CASE(AnInspectionKnowsTheWindowThatTheKeyWasUsedWith),
    SLUICE_CASE(AFirstHitWindowTakesARefundWithoutAReceipt),
    SLUICE_CASE(SeveralLimitsTakeAllOrNothing),
    SLUICE_CASE(TwoUsesOfOneKeySeeEachOther),
    SLUICE_CASE(AShadowNeverDenies),
    SLUICE_CASE(QuotasDenyOnlyTogether),
    SLUICE_CASE(AnEnforcedLimitDeniesWhateverQuotasSay),
    SLUICE_CASE(ALookDeniesAndTakesNothing),
    SLUICE_CASE(AForcedChargeGoesBelowZero),
    SLUICE_CASE(ACountedDenialTakesWhatIsLeft),
    SLUICE_CASE(AGrantIsSpentFirstAndMayExceedTheCap),
    SLUICE_CASE(AGrantPaysForAKeyInDebt),
    SLUICE_CASE(ARefundGoesToTheWindowItCameFrom),
    SLUICE_CASE(ARefundNeverOverfills),
    SLUICE_CASE(ASettlementChargesOrGivesBackTheDifference),
    SLUICE_CASE(AReceiptIsGivenBackOnceHoweverOftenItIsCancelled),
    SLUICE_CASE(TheFirstTotalOfAReceiptHolds),
    SLUICE_CASE(AChargeAfterALookCounts),
    SLUICE_CASE(PartialSettlementsRaiseTheChargeAndAFinalOneCorrectsIt),
    SLUICE_CASE(NothingFollowsAFinalSettlementOrAMove),
    SLUICE_CASE(WhatWasSettledIsForgottenWhenItExpires),
    SLUICE_CASE(AKeyThatRemembersTooManyReceiptsGivesNothingBack),
    SLUICE_CASE(AResetForgetsNoSettlement),
    SLUICE_CASE(ARefundGivesGrantsBackLast),
    SLUICE_CASE(AGrantThatExpiresIsSpentFirstAndEndsOnTime),
    SLUICE_CASE(AKeyWithNothingButAnExpiredGrantIsFresh),
    SLUICE_CASE(TwoGrantsThatExpireEndWithTheEarlier),
    SLUICE_CASE(ARefundOfAGrantThatHasExpiredIsLost),
    SLUICE_CASE(AnotherAlgorithmKeepsAGrantThatExpires),
    SLUICE_CASE(AResetForgetsEverything),
    SLUICE_CASE(KeysThatDifferInOnePartAreDifferent),
    SLUICE_CASE(ChangedNumbersKeepWhatIsLeft),
    SLUICE_CASE(AnotherAlgorithmStartsFreshAndKeepsTheGrant),
    SLUICE_CASE(AClockThatIsALittleBehindChangesNothing),
    SLUICE_CASE(AKeyGoesOnFromAClockThatWasSetBack),
    SLUICE_CASE(CallsThatMakeNoSenseAreRefusedWhole),
    SLUICE_CASE(TheLargestCallsAreAnswered),
};

#undef SLUICE_CASE

}  // namespace

std::span<const ConformanceCase> ConformanceCases() { return kCases; }

}  // namespace sluice::store::testing
