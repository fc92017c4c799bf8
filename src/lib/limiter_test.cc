#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sluice/limiter.h>

#include "base/fake_clock.h"

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr WallTime kStart{seconds(1'900'000'020)};  // A whole minute.

// Ten at once, one more every second.
NamedLimit Bucket(std::string name = "bucket") {
  return {std::move(name), *Limit::TokenBucket({.capacity = 10, .refill = Rate::PerSecond(1)})};
}

NamedLimit Window(std::int64_t limit = 10, std::string name = "window") {
  return {std::move(name), *Limit::FixedWindow({.limit = limit, .window = minutes(1)})};
}

NamedLimit Slots(std::int64_t limit = 2) {
  return {"slots", *Limit::Concurrency({.limit = limit, .time_to_live = minutes(1)})};
}

class LimiterTest : public testing::Test {
 protected:
  std::int64_t Remaining(const NamedLimit& limit, std::string_view key = "k") const {
    return limiter_.Peek(limit, key, 0)->tightest.remaining;
  }
  bool Allowed(const NamedLimit& limit, std::string_view key = "k", std::int64_t cost = 1) {
    return limiter_.Check(limit, key, cost)->allowed;
  }
  LimitStatus Take(const NamedLimit& limit, std::int64_t cost, std::string_view key = "k") {
    LimitStatus status;
    EXPECT_TRUE(limiter_.Check(limit, key, cost, &status)->allowed);
    return status;
  }

  FakeClock clock_{kStart};
  Limiter limiter_ = Limiter::InMemory({.max_keys = 10'000, .clock = &clock_}).value();
};

// Check and Peek.

TEST_F(LimiterTest, CallsPassUntilTheLimitIsReached) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Allowed(Bucket())) << i;
  EXPECT_FALSE(Allowed(Bucket()));
}

TEST_F(LimiterTest, AnAllowedCallReportsWhatIsLeft) {
  const auto decision = limiter_.Check(Bucket(), "k", 3);
  EXPECT_EQ(decision->tightest.limit, 10);
  EXPECT_EQ(decision->tightest.remaining, 7);
  EXPECT_EQ(decision->tightest.retry_after, Micros{0});
  EXPECT_EQ(decision->tightest.reset_after, seconds(3));
  EXPECT_FALSE(decision->degraded);
}

TEST_F(LimiterTest, ADeniedCallSucceedsAfterRetryAfterAndNotBefore) {
  Take(Bucket(), 10);
  const auto denied = limiter_.Check(Bucket(), "k", 4);
  ASSERT_EQ(denied->tightest.outcome, Outcome::kDenied);
  EXPECT_EQ(denied->tightest.retry_after, seconds(4));
  clock_.Advance(denied->tightest.retry_after - Micros{1});
  EXPECT_FALSE(Allowed(Bucket(), "k", 4));
  clock_.Advance(Micros{1});
  EXPECT_TRUE(Allowed(Bucket(), "k", 4));
}

TEST_F(LimiterTest, ADeniedCallTakesNothing) {
  Take(Bucket(), 8);
  EXPECT_FALSE(Allowed(Bucket(), "k", 3));
  EXPECT_EQ(Remaining(Bucket()), 2);
}

TEST_F(LimiterTest, ACostThatCanNeverFitIsDistinguishedFromWaiting) {
  const auto decision = limiter_.Check(Bucket(), "k", 11);
  EXPECT_FALSE(decision->allowed);
  EXPECT_EQ(decision->tightest.outcome, Outcome::kNeverFits);
  EXPECT_EQ(decision->tightest.retry_after, kMaxWait);
}

TEST_F(LimiterTest, ACostOfZeroIsNeverDenied) {
  Take(Bucket(), 10);
  EXPECT_TRUE(Allowed(Bucket(), "k", 0));
}

TEST_F(LimiterTest, KeysHaveBudgetsOfTheirOwn) {
  Take(Bucket(), 10, "alice");
  EXPECT_TRUE(Allowed(Bucket(), "bob", 10));
}

TEST_F(LimiterTest, NamesHaveBudgetsOfTheirOwn) {
  Take(Bucket("one"), 10);
  EXPECT_TRUE(Allowed(Bucket("other"), "k", 10));
}

TEST_F(LimiterTest, NameAndKeyDoNotCollide) {
  Take(Bucket("ab"), 10, "c");
  EXPECT_TRUE(Allowed(Bucket("a"), "bc", 10));
}

TEST_F(LimiterTest, KeysMayHoldAnyBytes) {
  Take(Bucket(), 10, std::string_view("\0", 1));
  EXPECT_TRUE(Allowed(Bucket(), "", 10));
  EXPECT_TRUE(Allowed(Bucket(), std::string_view("\0\0", 2), 10));
  EXPECT_FALSE(Allowed(Bucket(), std::string_view("\0", 1)));
}

TEST_F(LimiterTest, TheLongestKeyIsAccepted) {
  EXPECT_TRUE(Allowed(Bucket(), std::string(kMaxKeyBytes, 'x')));
}

TEST_F(LimiterTest, APeekReturnsTheResultOfACheckWithoutConsuming) {
  Take(Bucket(), 8);
  const auto peeked = limiter_.Peek(Bucket(), "k", 3);
  const auto checked = limiter_.Check(Bucket(), "k", 3);
  EXPECT_FALSE(peeked->allowed);
  EXPECT_EQ(peeked->tightest, checked->tightest);
}

TEST_F(LimiterTest, APeekTakesNothing) {
  EXPECT_TRUE(limiter_.Peek(Bucket(), "k", 10)->allowed);
  EXPECT_TRUE(Allowed(Bucket(), "k", 10));
}

TEST_F(LimiterTest, APeekHoldsNoKey) {
  (void)limiter_.Peek(Bucket(), "k", 10);
  EXPECT_EQ(limiter_.Stats().keys, 0U);
}

TEST_F(LimiterTest, ALeakyBucketReportsTheDelay) {
  const NamedLimit leaky{"leaky", *Limit::LeakyBucket({.capacity = 3, .leak = Rate::PerSecond(2)})};
  EXPECT_EQ(Take(leaky, 1).verdict.delay, Micros{0});
  EXPECT_EQ(Take(leaky, 1).verdict.delay, std::chrono::milliseconds(500));
}

// Errors.

TEST_F(LimiterTest, ANegativeCostIsRefused) {
  const auto result = limiter_.Check(Bucket(), "k", -1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidCost);
  EXPECT_THAT(result.error().message, HasSubstr("at least 0"));
}

TEST_F(LimiterTest, AKeyThatIsTooLongIsRefused) {
  const auto result = limiter_.Check(Bucket(), std::string(kMaxKeyBytes + 1, 'x'));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidKey);
  EXPECT_THAT(result.error().message, HasSubstr("at most 4096 bytes"));
}

TEST_F(LimiterTest, TooManyLimitsInOneCallAreRefused) {
  const NamedLimit limit = Bucket();
  const std::vector<LimitUse> uses(kMaxLimitsPerCall + 1, {.limit = &limit, .key = "k"});
  const auto result = limiter_.CheckAll(uses);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTooManyLimits);
  EXPECT_THAT(result.error().message, HasSubstr("at most 128 limits"));
}

TEST_F(LimiterTest, TwoLimitsOfOneNameForOneKeyInOneCallAreRefused) {
  const NamedLimit bucket = Bucket();
  const NamedLimit log{bucket.name, *Limit::SlidingWindowLog({.limit = 1, .window = seconds(1)})};
  const std::vector<LimitUse> uses = {{.limit = &bucket, .key = "k"}, {.limit = &log, .key = "k"}};
  const auto result = limiter_.CheckAll(uses);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidLimit);
  EXPECT_THAT(result.error().message, HasSubstr("one name"));
}

TEST_F(LimiterTest, AGrantOfNothingIsRefused) {
  EXPECT_EQ(limiter_.Grant(Bucket(), "k", 0).error().code, ErrorCode::kInvalidCost);
}

TEST_F(LimiterTest, AGrantToAConcurrencyLimitIsNotSupported) {
  EXPECT_EQ(limiter_.Grant(Slots(), "k", 1).error().code, ErrorCode::kNotSupported);
}

TEST_F(LimiterTest, ARefundToAConcurrencyLimitIsNotSupported) {
  const Receipt receipt = Take(Slots(), 1).receipt;
  EXPECT_EQ(limiter_.Refund(Slots(), "k", receipt).error().code, ErrorCode::kNotSupported);
}

TEST_F(LimiterTest, AReceiptBelowZeroIsRefused) {
  EXPECT_EQ(limiter_.Refund(Bucket(), "k", {.amount = -5}).error().code, ErrorCode::kInvalidCost);
}

TEST_F(LimiterTest, ASettlementBelowZeroIsRefused) {
  const Receipt receipt = Take(Bucket(), 5).receipt;
  EXPECT_EQ(limiter_.Settle(Bucket(), "k", receipt, -1).error().code, ErrorCode::kInvalidCost);
}

TEST_F(LimiterTest, EveryErrorExplainsItself) {
  const auto result = limiter_.Grant(Slots(), "k", 1);
  ASSERT_FALSE(result);
  EXPECT_STREQ(ErrorName(result.error().code), "not_supported");
  EXPECT_THAT(result.error().message, HasSubstr("no such operation"));
}

TEST(LimiterOptionsTest, ALimiterForNoKeysIsRefused) {
  const auto limiter = Limiter::InMemory({.max_keys = 0});
  ASSERT_FALSE(limiter);
  EXPECT_EQ(limiter.error().code, ErrorCode::kInvalidOptions);
  EXPECT_THAT(limiter.error().message, HasSubstr("max_keys must be between 1 and"));
}

TEST(LimiterOptionsTest, AMaximumBelowAnyKeyIsRejected) {
  const auto limiter = Limiter::InMemory({.max_bytes = 100});
  ASSERT_FALSE(limiter);
  EXPECT_EQ(limiter.error().code, ErrorCode::kInvalidOptions);
  EXPECT_THAT(limiter.error().message, HasSubstr("found 100"));
}

TEST(LimiterOptionsTest, WithoutOptionsItWorksOnTheSystemsClock) {
  auto limiter = Limiter::InMemory();
  ASSERT_TRUE(limiter);
  const NamedLimit once{
      "once", *Limit::FixedWindow({.limit = 1, .window = hours(24), .anchor = Anchor::kFirstHit})};
  EXPECT_TRUE(limiter->Check(once, "k")->allowed);
  EXPECT_FALSE(limiter->Check(once, "k")->allowed);
}

// Several limits in one decision.

TEST_F(LimiterTest, ACallThatAllLimitsAllowTakesFromAll) {
  const NamedLimit one = Bucket("one");
  const NamedLimit other = Window(5, "other");
  const std::array<LimitUse, 2> uses{
      {{.limit = &one, .key = "a", .cost = 2}, {.limit = &other, .key = "b", .cost = 3}}};
  EXPECT_TRUE(limiter_.CheckAll(uses)->allowed);
  EXPECT_EQ(Remaining(one, "a"), 8);
  EXPECT_EQ(Remaining(other, "b"), 2);
}

TEST_F(LimiterTest, ACallThatOneLimitDeniesTakesFromNone) {
  const NamedLimit one = Bucket("one");
  const NamedLimit other = Window(5, "other");
  Take(other, 4, "b");
  const std::array<LimitUse, 2> uses{
      {{.limit = &one, .key = "a", .cost = 2}, {.limit = &other, .key = "b", .cost = 3}}};
  EXPECT_FALSE(limiter_.CheckAll(uses)->allowed);
  EXPECT_EQ(Remaining(one, "a"), 10);
  EXPECT_EQ(Remaining(other, "b"), 1);
}

TEST_F(LimiterTest, TheHeadlineOfADenialIsTheLimitWithTheLongestWait) {
  const NamedLimit quick = Bucket("quick");
  const NamedLimit slow = Window(5, "slow");
  Take(quick, 10);
  Take(slow, 5);
  const std::array<LimitUse, 2> uses{{{.limit = &quick, .key = "k"}, {.limit = &slow, .key = "k"}}};
  const auto decision = limiter_.CheckAll(uses);
  EXPECT_EQ(decision->index, 1);
  EXPECT_EQ(decision->tightest.retry_after, minutes(1));
}

TEST_F(LimiterTest, TheHeadlineOfAPassIsTheLimitInWhichFewestSuchCallsFit) {
  const NamedLimit roomy = Window(100, "roomy");
  const NamedLimit tight = Window(7, "tight");
  const std::array<LimitUse, 2> uses{
      {{.limit = &roomy, .key = "k"}, {.limit = &tight, .key = "k"}}};
  EXPECT_EQ(limiter_.CheckAll(uses)->index, 1);
}

TEST_F(LimiterTest, EveryLimitOfACallReportsItsStatus) {
  const NamedLimit one = Bucket("one");
  const NamedLimit other = Window(5, "other");
  Take(other, 5);
  const std::array<LimitUse, 2> uses{{{.limit = &one, .key = "k"}, {.limit = &other, .key = "k"}}};
  std::array<LimitStatus, 2> statuses;
  ASSERT_FALSE(limiter_.CheckAll(uses, statuses)->allowed);
  EXPECT_EQ(statuses[0].verdict.outcome, Outcome::kAllowed);
  EXPECT_EQ(statuses[1].verdict.outcome, Outcome::kDenied);
}

TEST_F(LimiterTest, TheReceiptsOfADeniedCallAreEmpty) {
  const NamedLimit one = Bucket("one");
  const NamedLimit other = Window(5, "other");
  Take(other, 5);
  const std::array<LimitUse, 2> uses{{{.limit = &one, .key = "k"}, {.limit = &other, .key = "k"}}};
  std::array<LimitStatus, 2> statuses;
  statuses[0].receipt.amount = 99;
  ASSERT_FALSE(limiter_.CheckAll(uses, statuses)->allowed);
  EXPECT_EQ(statuses[0].receipt, Receipt{});
  EXPECT_EQ(statuses[1].receipt, Receipt{});
}

TEST_F(LimiterTest, ACallWithoutLimitsPasses) { EXPECT_TRUE(limiter_.CheckAll({})->allowed); }

TEST_F(LimiterTest, AsManyLimitsAsAllowedMakeOneDecision) {
  std::vector<NamedLimit> limits;
  for (std::size_t i = 0; i < kMaxLimitsPerCall; ++i) {
    limits.push_back(Window(3, std::to_string(i)));
  }
  Take(limits[77], 3);
  std::vector<LimitUse> uses;
  for (const NamedLimit& limit : limits) uses.push_back({.limit = &limit, .key = "k"});
  const auto decision = limiter_.CheckAll(uses);
  EXPECT_FALSE(decision->allowed);
  EXPECT_EQ(decision->index, 77);
  EXPECT_EQ(limiter_.Stats().keys, 1U);
}

TEST_F(LimiterTest, OneKeyUsedTwiceInACallIsConsumedTwice) {
  const NamedLimit limit = Window(10);
  const std::array<LimitUse, 2> uses{
      {{.limit = &limit, .key = "k", .cost = 4}, {.limit = &limit, .key = "k", .cost = 4}}};
  EXPECT_TRUE(limiter_.CheckAll(uses)->allowed);
  EXPECT_EQ(Remaining(limit), 2);
  EXPECT_FALSE(limiter_.CheckAll(uses)->allowed);
}

TEST_F(LimiterTest, AShadowLimitNeverDenies) {
  const NamedLimit limit = Window(1);
  Take(limit, 1);
  const std::array<LimitUse, 1> uses{{{.limit = &limit, .key = "k", .mode = Mode::kShadow}}};
  std::array<LimitStatus, 1> statuses;
  EXPECT_TRUE(limiter_.CheckAll(uses, statuses)->allowed);
  EXPECT_EQ(statuses[0].verdict.outcome, Outcome::kDenied) << "but it says what it would do";
}

TEST_F(LimiterTest, AForcedUseTakesBelowZero) {
  const NamedLimit limit = Window(1);
  const std::array<LimitUse, 1> uses{
      {{.limit = &limit, .key = "k", .cost = 5, .mode = Mode::kForce}}};
  EXPECT_TRUE(limiter_.CheckAll(uses)->allowed);
  EXPECT_EQ(limiter_.Inspect(limit, "k")->level, -4);
}

TEST_F(LimiterTest, ALimitThatCountsDeniedCallsIsDrainedByThem) {
  const NamedLimit limit = Window(10);
  Take(limit, 8);
  const std::array<LimitUse, 1> uses{
      {{.limit = &limit, .key = "k", .cost = 3, .count_denied = true}}};
  EXPECT_FALSE(limiter_.CheckAll(uses)->allowed);
  EXPECT_EQ(Remaining(limit), 0);
}

// Batches.

TEST_F(LimiterTest, ABatchDecidesAsOneByOneWould) {
  const NamedLimit limit = Window(3);
  std::vector<std::string> keys;
  for (int i = 0; i < 50; ++i) keys.push_back(std::to_string(i % 7));
  std::vector<LimitUse> uses;
  for (const std::string& key : keys) uses.push_back({.limit = &limit, .key = key});
  std::vector<Decision> decisions(uses.size());
  EXPECT_EQ(*limiter_.CheckBatch(uses, decisions), 21U);

  auto one_by_one = Limiter::InMemory({.clock = &clock_}).value();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto decision = one_by_one.Check(limit, keys[i]);
    EXPECT_EQ(decisions[i].allowed, decision->allowed) << i;
    EXPECT_EQ(decisions[i].tightest, decision->tightest) << i;
  }
}

TEST_F(LimiterTest, ABatchOfManyLimitsTellsEachItsReceipt) {
  const NamedLimit bucket = Bucket();
  const NamedLimit window = Window();
  std::vector<LimitUse> uses;
  for (int i = 0; i < 20; ++i) {
    uses.push_back({.limit = i % 2 == 0 ? &bucket : &window, .key = "k", .cost = i % 3});
  }
  std::vector<Decision> decisions(uses.size());
  std::vector<LimitStatus> statuses(uses.size());
  ASSERT_EQ(*limiter_.CheckBatch(uses, decisions, statuses), 20U);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(statuses[static_cast<std::size_t>(i)].receipt.amount, i % 3);
}

TEST_F(LimiterTest, ABatchWithOneInvalidUseIsRefusedWhole) {
  const NamedLimit limit = Window();
  std::vector<LimitUse> uses(20, {.limit = &limit, .key = "k"});
  uses.back().cost = -1;
  std::vector<Decision> decisions(uses.size());
  EXPECT_EQ(limiter_.CheckBatch(uses, decisions).error().code, ErrorCode::kInvalidCost);
  EXPECT_EQ(Remaining(limit), 10) << "nothing was taken";
}

TEST_F(LimiterTest, AnEmptyBatchAllowsNothing) { EXPECT_EQ(*limiter_.CheckBatch({}, {}), 0U); }

// Reset, Grant, Charge.

TEST_F(LimiterTest, AResetKeyIsAsIfNeverUsed) {
  Take(Bucket(), 10);
  EXPECT_TRUE(limiter_.Reset(Bucket(), "k"));
  EXPECT_EQ(Remaining(Bucket()), 10);
  EXPECT_EQ(limiter_.Stats().keys, 0U);
}

TEST_F(LimiterTest, ThereIsNothingToResetForAKeyThatWasNeverUsed) {
  EXPECT_FALSE(limiter_.Reset(Bucket(), "k"));
}

TEST_F(LimiterTest, ThereIsNothingToResetForAKeyThatHasRecovered) {
  Take(Bucket(), 1);
  clock_.Advance(seconds(1));
  EXPECT_FALSE(limiter_.Reset(Bucket(), "k"));
}

TEST_F(LimiterTest, AGrantGoesBeyondTheLimit) {
  EXPECT_EQ(limiter_.Grant(Bucket(), "k", 5)->remaining, 15);
  EXPECT_TRUE(Allowed(Bucket(), "k", 15));
  EXPECT_FALSE(Allowed(Bucket()));
}

TEST_F(LimiterTest, AGrantIsSpentFirst) {
  ASSERT_TRUE(limiter_.Grant(Bucket(), "k", 5));
  const Receipt receipt = Take(Bucket(), 7).receipt;
  EXPECT_EQ(receipt.from_grant, 5);
  EXPECT_EQ(receipt.amount, 2);
}

TEST_F(LimiterTest, AGrantOutlivesAnyWindow) {
  ASSERT_TRUE(limiter_.Grant(Window(), "k", 5));
  clock_.Advance(hours(1000));
  EXPECT_EQ(Remaining(Window()), 15);
}

TEST_F(LimiterTest, AResetForgetsGrants) {
  ASSERT_TRUE(limiter_.Grant(Bucket(), "k", 5));
  EXPECT_TRUE(limiter_.Reset(Bucket(), "k"));
  EXPECT_EQ(Remaining(Bucket()), 10);
}

TEST_F(LimiterTest, AChargeIsNeverDeniedAndLeavesDebt) {
  EXPECT_EQ(limiter_.Charge(Bucket(), "k", 25)->outcome, Outcome::kAllowed);
  EXPECT_EQ(limiter_.Inspect(Bucket(), "k")->level, -15);
  EXPECT_EQ(Remaining(Bucket()), 0) << "reported quotas are never below zero";
}

TEST_F(LimiterTest, DebtIsPaidBeforeAnythingPasses) {
  ASSERT_TRUE(limiter_.Charge(Bucket(), "k", 25));
  EXPECT_EQ(limiter_.Check(Bucket(), "k")->tightest.retry_after, seconds(16));
}

// Refund and Settle.

TEST_F(LimiterTest, ARefundGivesBackAllThatWasTaken) {
  const Receipt receipt = Take(Bucket(), 7).receipt;
  EXPECT_EQ(limiter_.Refund(Bucket(), "k", receipt)->remaining, 10);
}

TEST_F(LimiterTest, ARefundDoesNotFillABucketBeyondItsCap) {
  const Receipt receipt = Take(Bucket(), 7).receipt;
  clock_.Advance(seconds(5));
  EXPECT_EQ(limiter_.Refund(Bucket(), "k", receipt)->remaining, 10);
}

TEST_F(LimiterTest, ARefundGivesBackToTheGrantWhatCameFromIt) {
  ASSERT_TRUE(limiter_.Grant(Bucket(), "k", 5));
  const Receipt receipt = Take(Bucket(), 7).receipt;
  ASSERT_TRUE(limiter_.Refund(Bucket(), "k", receipt));
  EXPECT_EQ(limiter_.Inspect(Bucket(), "k")->grant, 5);
  EXPECT_EQ(Remaining(Bucket()), 15);
}

TEST_F(LimiterTest, AnEmptyReceiptGivesBackNothing) {
  Take(Bucket(), 7);
  EXPECT_EQ(limiter_.Refund(Bucket(), "k", {})->remaining, 3);
}

TEST_F(LimiterTest, ASettlementGivesBackWhatWasNotUsed) {
  const Receipt receipt = Take(Window(), 7).receipt;
  EXPECT_EQ(limiter_.Settle(Window(), "k", receipt, 2)->remaining, 8);
}

TEST_F(LimiterTest, ASettlementChargesWhatWasUsedBeyondTheEstimate) {
  const Receipt receipt = Take(Window(), 7).receipt;
  ASSERT_TRUE(limiter_.Settle(Window(), "k", receipt, 14));
  EXPECT_EQ(limiter_.Inspect(Window(), "k")->level, -4);
}

TEST_F(LimiterTest, ASettlementDoesNotTouchTheNextWindow) {
  const Receipt receipt = Take(Window(), 7).receipt;
  clock_.Advance(minutes(1));
  Take(Window(), 1);
  EXPECT_EQ(limiter_.Settle(Window(), "k", receipt, 9)->remaining, 9);
}

TEST_F(LimiterTest, ARefundReachesThePreviousWindowThatASlidingCounterStillWeighs) {
  const NamedLimit sliding{"sliding",
                           *Limit::SlidingWindowCounter({.limit = 10, .window = minutes(1)})};
  const Receipt receipt = Take(sliding, 10).receipt;
  clock_.Advance(minutes(1) + seconds(30));
  ASSERT_EQ(Remaining(sliding), 5);
  EXPECT_EQ(limiter_.Refund(sliding, "k", receipt)->remaining, 10);
}

// Concurrency.

TEST_F(LimiterTest, AReleasedSlotIsFreeForTheNext) {
  const std::uint64_t slot = Take(Slots(), 1).receipt.slot;
  Take(Slots(), 1);
  EXPECT_FALSE(Allowed(Slots()));
  EXPECT_TRUE(limiter_.Release(Slots(), "k", slot));
  EXPECT_TRUE(Allowed(Slots()));
}

TEST_F(LimiterTest, ReleasingTwiceFreesOnce) {
  const std::uint64_t slot = Take(Slots(), 1).receipt.slot;
  EXPECT_TRUE(limiter_.Release(Slots(), "k", slot));
  EXPECT_FALSE(limiter_.Release(Slots(), "k", slot));
}

TEST_F(LimiterTest, ASlotThatIsNeverReleasedExpires) {
  const std::uint64_t slot = Take(Slots(1), 1).receipt.slot;
  clock_.Advance(minutes(1));
  EXPECT_TRUE(Allowed(Slots(1)));
  EXPECT_FALSE(limiter_.Release(Slots(1), "k", slot));
}

TEST_F(LimiterTest, ARenewedSlotLivesOn) {
  const std::uint64_t slot = Take(Slots(1), 1).receipt.slot;
  clock_.Advance(seconds(40));
  EXPECT_TRUE(limiter_.Renew(Slots(1), "k", slot));
  clock_.Advance(seconds(40));
  EXPECT_FALSE(Allowed(Slots(1)));
}

TEST_F(LimiterTest, ASlotThatIsGoneIsNotRenewed) {
  const std::uint64_t slot = Take(Slots(1), 1).receipt.slot;
  clock_.Advance(minutes(1));
  EXPECT_FALSE(limiter_.Renew(Slots(1), "k", slot));
}

TEST_F(LimiterTest, AChosenIdTakesOneSlotHoweverOftenItIsRequested) {
  const NamedLimit slots = Slots(1);
  const std::array<LimitUse, 1> uses{{{.limit = &slots, .key = "k", .slot = 42}}};
  EXPECT_TRUE(limiter_.CheckAll(uses)->allowed);
  EXPECT_TRUE(limiter_.CheckAll(uses)->allowed);
  EXPECT_FALSE(Allowed(slots));
  EXPECT_TRUE(limiter_.Release(slots, "k", 42));
}

TEST_F(LimiterTest, OtherLimitsHaveNoSlots) {
  Take(Bucket(), 1);
  EXPECT_FALSE(limiter_.Release(Bucket(), "k", 1));
  EXPECT_FALSE(limiter_.Renew(Bucket(), "k", 1));
}

// Inspect, ForEachKey, Stats.

TEST_F(LimiterTest, NothingIsKnownOfAKeyThatWasNeverUsed) {
  EXPECT_FALSE(limiter_.Inspect(Bucket(), "k").has_value());
}

TEST_F(LimiterTest, NothingIsKnownOfAKeyThatHasRecovered) {
  Take(Bucket(), 1);
  clock_.Advance(seconds(1));
  EXPECT_FALSE(limiter_.Inspect(Bucket(), "k").has_value());
}

TEST_F(LimiterTest, InspectReturnsTheWholeStateOfAKey) {
  ASSERT_TRUE(limiter_.Grant(Bucket(), "k", 3));
  Take(Bucket(), 7);
  clock_.Advance(seconds(1));
  ASSERT_TRUE(limiter_.Grant(Bucket(), "k", 2));
  const auto info = limiter_.Inspect(Bucket(), "k");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->level, 7);
  EXPECT_EQ(info->grant, 2);
  EXPECT_EQ(info->verdict.remaining, 9);
  EXPECT_EQ(info->touched, kStart + seconds(1));
  EXPECT_EQ(info->limit, Bucket().limit.numbers());
}

TEST_F(LimiterTest, AWalkSeesEveryLiveKeyOnce) {
  for (int i = 0; i < 1000; ++i) Take(Window(), 1 + i % 10, std::to_string(i));
  std::set<std::uint64_t> ids;
  std::int64_t used = 0;
  limiter_.ForEachKey([&](const KeyInfo& key) {
    ids.insert(key.id);
    used += 10 - key.level;
    return true;
  });
  EXPECT_EQ(ids.size(), 1000U);
  EXPECT_EQ(used, 5500);
}

TEST_F(LimiterTest, AWalkSkipsFreshKeys) {
  Take(Window(), 1);
  clock_.Advance(minutes(1));
  limiter_.ForEachKey([](const KeyInfo&) {
    ADD_FAILURE();
    return true;
  });
}

TEST_F(LimiterTest, AWalkStopsOnRequest) {
  for (int i = 0; i < 100; ++i) Take(Window(), 1, std::to_string(i));
  int visited = 0;
  limiter_.ForEachKey([&](const KeyInfo&) { return ++visited < 3; });
  EXPECT_EQ(visited, 3);
}

TEST_F(LimiterTest, AWalkMayCallTheLimiter) {
  for (int i = 0; i < 100; ++i) Take(Window(), 1, std::to_string(i));
  limiter_.ForEachKey([&](const KeyInfo&) { return Allowed(Bucket(), "walker", 0); });
}

TEST_F(LimiterTest, NamesAreNotKeptUnlessAskedFor) {
  Take(Window(), 1, "alice");
  limiter_.ForEachKey([](const KeyInfo& key) {
    EXPECT_EQ(key.name, "");
    return true;
  });
}

TEST(LimiterNamesTest, KeptNamesAreReportedPercentEncoded) {
  const FakeClock clock(kStart);
  auto limiter = Limiter::InMemory({.keep_names = true, .clock = &clock}).value();
  for (const char* key : {"alice", "b}:o b", "carol"}) ASSERT_TRUE(limiter.Check(Window(), key));
  std::set<std::string> names;
  limiter.ForEachKey([&](const KeyInfo& key) {
    names.insert(key.name);
    return true;
  });
  EXPECT_THAT(names,
              testing::ElementsAre("{alice}:window:", "{b%7D%3Ao%20b}:window:", "{carol}:window:"));
}

TEST(LimiterNamesTest, KeptNamesChangeNoAnswer) {
  const FakeClock clock(kStart);
  auto limiter = Limiter::InMemory({.keep_names = true, .clock = &clock}).value();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter.Check(Window(), "k")->allowed);
  EXPECT_FALSE(limiter.Check(Window(), "k")->allowed);
}

TEST_F(LimiterTest, StatisticsCountKeysAndBytes) {
  const std::size_t before = limiter_.Stats().bytes;
  for (int i = 0; i < 2000; ++i) Take(Window(), 1, std::to_string(i));
  EXPECT_EQ(limiter_.Stats().keys, 2000U);
  EXPECT_GT(limiter_.Stats().bytes, before + std::size_t{2000} * 32);
}

TEST_F(LimiterTest, FreshKeysAreDroppedAutomatically) {
  for (int i = 0; i < 5000; ++i) Take(Window(), 1, std::to_string(i));
  clock_.Advance(minutes(1));
  // Other traffic, on few keys.
  const NamedLimit window = Window();
  for (int i = 0; i < 500'000; ++i) (void)limiter_.Check(window, "busy" + std::to_string(i % 1000));
  EXPECT_LT(limiter_.Stats().keys, 1500U);
  EXPECT_GT(limiter_.Stats().expired, 4000U);
}

// A store without room.

class FullLimiterTest : public testing::Test {
 protected:
  FullLimiterTest() { EXPECT_TRUE(limiter_.Check(open_, "first", 3)->allowed); }

  FakeClock clock_{kStart};
  Limiter limiter_ = Limiter::InMemory({.max_keys = 1, .clock = &clock_}).value();
  NamedLimit open_ = Window(10, "open");
  NamedLimit closed_{"closed", Window().limit, FailureMode::kClosed};
};

TEST_F(FullLimiterTest, APresentKeyIsStillLimited) {
  EXPECT_TRUE(limiter_.Check(open_, "first", 7)->allowed);
  const auto denied = limiter_.Check(open_, "first");
  EXPECT_FALSE(denied->allowed);
  EXPECT_FALSE(denied->degraded);
}

TEST_F(FullLimiterTest, ANewKeyOfALimitThatFailsOpenPassesDegraded) {
  const auto decision = limiter_.Check(open_, "second");
  EXPECT_TRUE(decision->allowed);
  EXPECT_TRUE(decision->degraded);
}

TEST_F(FullLimiterTest, ANewKeyOfALimitThatFailsClosedIsDeniedDegraded) {
  const auto decision = limiter_.Check(closed_, "second");
  EXPECT_FALSE(decision->allowed);
  EXPECT_TRUE(decision->degraded);
  EXPECT_GT(decision->tightest.retry_after, Micros{0});
}

TEST_F(FullLimiterTest, ACallThatCouldNotBeCountedHasAnEmptyReceipt) {
  LimitStatus status;
  status.receipt.amount = 99;
  ASSERT_TRUE(limiter_.Check(open_, "second", 2, &status)->degraded);
  EXPECT_EQ(status.receipt, Receipt{});
}

TEST_F(FullLimiterTest, ACallOverSeveralLimitsOfWhichOneHasNoRoomTakesFromNone) {
  const std::array<LimitUse, 2> uses{
      {{.limit = &open_, .key = "first"}, {.limit = &open_, .key = "second"}}};
  std::array<LimitStatus, 2> statuses;
  EXPECT_TRUE(limiter_.CheckAll(uses, statuses)->degraded);
  EXPECT_EQ(limiter_.Peek(open_, "first", 0)->tightest.remaining, 7);
  EXPECT_EQ(statuses[0].receipt, Receipt{});
}

TEST_F(FullLimiterTest, OneLimitThatFailsClosedClosesTheCall) {
  const std::array<LimitUse, 2> uses{
      {{.limit = &open_, .key = "second"}, {.limit = &closed_, .key = "second"}}};
  const auto decision = limiter_.CheckAll(uses);
  EXPECT_FALSE(decision->allowed);
  EXPECT_EQ(decision->index, 1);
}

TEST_F(FullLimiterTest, AShadowLimitDoesNotCloseTheCall) {
  const std::array<LimitUse, 1> uses{{{.limit = &closed_, .key = "second", .mode = Mode::kShadow}}};
  EXPECT_TRUE(limiter_.CheckAll(uses)->allowed);
}

TEST_F(FullLimiterTest, ABatchAnswersEachUseByItsOwnFailureMode) {
  const std::array<LimitUse, 3> uses{{{.limit = &open_, .key = "first"},
                                      {.limit = &open_, .key = "second"},
                                      {.limit = &closed_, .key = "third"}}};
  std::array<Decision, 3> decisions;
  EXPECT_EQ(*limiter_.CheckBatch(uses, decisions), 2U);
  EXPECT_FALSE(decisions[0].degraded);
  EXPECT_TRUE(decisions[1].degraded && decisions[1].allowed);
  EXPECT_TRUE(decisions[2].degraded && !decisions[2].allowed);
}

TEST_F(FullLimiterTest, APeekNeedsNoRoom) {
  EXPECT_FALSE(limiter_.Peek(open_, "second")->degraded);
}

TEST_F(FullLimiterTest, AChargeWithoutRoomIsAnError) {
  const auto result = limiter_.Charge(open_, "second", 1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kStoreFull);
}

TEST_F(FullLimiterTest, AGrantWithoutRoomIsAnError) {
  EXPECT_EQ(limiter_.Grant(open_, "second", 1).error().code, ErrorCode::kStoreFull);
}

TEST_F(FullLimiterTest, RefusalsAreCounted) {
  (void)limiter_.Check(open_, "second");
  (void)limiter_.Check(open_, "third");
  EXPECT_EQ(limiter_.Stats().refused, 2U);
  EXPECT_EQ(limiter_.Stats().keys, 1U);
}

TEST_F(FullLimiterTest, ThereIsRoomAgainOnceAKeyIsFresh) {
  clock_.Advance(minutes(1));
  EXPECT_FALSE(limiter_.Check(open_, "second")->degraded);
  EXPECT_EQ(limiter_.Stats().keys, 1U);
}

TEST(LimiterMemoryTest, TheMaximumIsEnforced) {
  const FakeClock clock(kStart);
  constexpr std::size_t kCeiling = 600'000;
  auto limiter =
      Limiter::InMemory({.max_keys = 100'000, .max_bytes = kCeiling, .clock = &clock}).value();
  for (int i = 0; i < 30'000; ++i) ASSERT_TRUE(limiter.Check(Window(), std::to_string(i)));
  EXPECT_LE(limiter.Stats().bytes, kCeiling);
  EXPECT_GT(limiter.Stats().refused, 0U);
  EXPECT_GT(limiter.Stats().keys, 10'000U);
}

// Limits that change.

TEST_F(LimiterTest, ABucketWhoseNumbersChangeKeepsWhatItHasLeft) {
  Take(Bucket(), 4);
  const NamedLimit larger{"bucket",
                          *Limit::TokenBucket({.capacity = 100, .refill = Rate::PerSecond(1)})};
  EXPECT_EQ(Remaining(larger), 6);
}

TEST_F(LimiterTest, ABucketThatBecomesSmallerIsClampedToItsNewCap) {
  Take(Bucket(), 1);
  const NamedLimit smaller{"bucket",
                           *Limit::TokenBucket({.capacity = 5, .refill = Rate::PerSecond(1)})};
  EXPECT_EQ(Remaining(smaller), 5);
}

TEST_F(LimiterTest, AWindowWhoseLimitChangesKeepsWhatWasUsed) {
  Take(Window(10), 4);
  EXPECT_EQ(Remaining(Window(100)), 96);
  EXPECT_EQ(Remaining(Window(3)), 0);
}

TEST_F(LimiterTest, AnotherAlgorithmUnderTheSameNameBeginsAnew) {
  Take(Window(10, "limit"), 10);
  EXPECT_EQ(Remaining(Bucket("limit")), 10);
}

// Clocks and threads.

TEST_F(LimiterTest, TheTimeComesFromTheClockThatWasGiven) {
  Take(Window(), 10);
  clock_.Advance(minutes(1) - Micros{1});
  EXPECT_FALSE(Allowed(Window()));
  clock_.Advance(Micros{1});
  EXPECT_TRUE(Allowed(Window()));
}

TEST_F(LimiterTest, AClockThatIsSetBackLosesNothing) {
  Take(Bucket(), 4);
  clock_.Set(kStart - hours(1));
  EXPECT_EQ(Remaining(Bucket()), 6);
  Take(Bucket(), 6);
  clock_.Advance(seconds(1));
  EXPECT_EQ(Remaining(Bucket()), 1) << "the key goes on from the new time";
}

TEST_F(LimiterTest, AClockOutOfRangeIsClamped) {
  clock_.Set(WallTime{Micros{-5}});
  EXPECT_TRUE(Allowed(Bucket(), "k", 10));
  EXPECT_FALSE(Allowed(Bucket()));
  clock_.Set(WallTime::max());
  EXPECT_TRUE(Allowed(Bucket(), "k", 10));
  EXPECT_FALSE(Allowed(Bucket()));
}

TEST_F(LimiterTest, AMovedLimiterKeepsWorking) {
  Take(Window(), 10);
  Limiter moved = std::move(limiter_);
  EXPECT_FALSE(moved.Check(Window(), "k")->allowed);
}

TEST_F(LimiterTest, ThreadsTogetherGetWhatTheLimitsAllow) {
  constexpr int kThreads = 4;
  constexpr int kKeys = 50;
  std::atomic<int> passed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20 * kKeys; ++i) {
        if (Allowed(Window(), std::to_string(i % kKeys))) ++passed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed, 10 * kKeys);
}

TEST_F(LimiterTest, CallsWithSeveralLimitsInOppositeOrdersDoNotDeadlock) {
  const NamedLimit one = Window(1'000'000, "one");
  const NamedLimit other = Window(1'000'000, "other");
  const auto run = [&](const NamedLimit& first, const NamedLimit& second) {
    for (int i = 0; i < 20'000; ++i) {
      const std::array<LimitUse, 2> uses{
          {{.limit = &first, .key = "k"}, {.limit = &second, .key = "k"}}};
      ASSERT_TRUE(limiter_.CheckAll(uses)->allowed);
    }
  };
  std::thread thread([&] { run(other, one); });
  run(one, other);
  thread.join();
  EXPECT_EQ(Remaining(one), 960'000);
  EXPECT_EQ(Remaining(other), 960'000);
}

}  // namespace
}  // namespace sluice
