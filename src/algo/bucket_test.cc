#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "algo/testing/single_key.h"

namespace sluice::algo::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kStart{hours(24) * 20'000};
constexpr std::int64_t kHuge = INT64_MAX;

Limit Bucket(std::int64_t capacity, Rate rate) {
  return Limit::TokenBucket({.capacity = capacity, .refill = rate}).value();
}

TEST(TokenBucket, StartsFull) {
  SingleKey key(Bucket(10, Rate::PerSecond(1)), kStart);
  EXPECT_EQ(key.Left(kStart), 10);
  EXPECT_EQ(key.Check(kStart, 10).outcome, Outcome::kAllowed);
  EXPECT_EQ(key.Check(kStart, 1).outcome, Outcome::kDenied);
}

TEST(TokenBucket, HoldsNoMoreThanItsCapAfterALongIdle) {
  SingleKey key(Bucket(10, Rate::PerSecond(1)), kStart);
  key.Check(kStart, 10);
  EXPECT_EQ(key.Left(kStart + hours(24) * 365), 10);
}

TEST(TokenBucket, LosesNoFractionHoweverOftenItIsChecked) {
  SingleKey key(Bucket(1, Rate::Per(1, Micros{3})), kStart);
  key.Check(kStart, 1);
  std::int64_t admitted = 0;
  for (int i = 1; i <= 3000; ++i) {
    if (key.Check(kStart + Micros{i}, 1).outcome == Outcome::kAllowed) ++admitted;
  }
  EXPECT_EQ(admitted, 1000);
}

TEST(TokenBucket, RefillsAThirdOfATokenExactly) {
  SingleKey key(Bucket(1, Rate::Per(1, seconds(3))), kStart);
  key.Check(kStart, 1);
  EXPECT_EQ(key.Check(kStart, 1).retry_after, seconds(3));
  EXPECT_EQ(key.Left(kStart + seconds(3) - Micros{1}), 0);
  EXPECT_EQ(key.Left(kStart + seconds(3)), 1);
}

TEST(TokenBucket, RefillsInStepsAlignedToTheEpoch) {
  const Limit limit =
      Limit::TokenBucket(
          {.capacity = 100, .refill = Rate::PerMinute(60), .refill_interval = seconds(10)})
          .value();
  SingleKey key(limit, kStart + seconds(9));
  key.Check(kStart + seconds(9), 100);
  EXPECT_EQ(key.Check(kStart + seconds(9), 1).retry_after, seconds(1));
  EXPECT_EQ(key.Left(kStart + seconds(10) - Micros{1}), 0);
  EXPECT_EQ(key.Left(kStart + seconds(10)), 10);
  EXPECT_EQ(key.Check(kStart + seconds(10), 11).retry_after, seconds(10));
}

TEST(TokenBucket, ItsDebtIsTheChargedAmount) {
  SingleKey key(Bucket(10, Rate::PerSecond(10)), kStart);
  key.Force(kStart, 1010);
  EXPECT_EQ(key.Left(kStart), -1000);
  EXPECT_EQ(key.Check(kStart, 1).retry_after, milliseconds(100'100));
}

TEST(TokenBucket, ForgivesDebtBelowTheMinimum) {
  SingleKey key(Bucket(10, Rate::PerSecond(10)), kStart);
  key.Force(kStart, kHuge);
  const std::int64_t deepest = key.Left(kStart);
  key.Force(kStart, kHuge);
  EXPECT_EQ(key.Left(kStart), deepest);
}

TEST(TokenBucket, RefundsUpToItsCap) {
  SingleKey key(Bucket(10, Rate::PerSecond(10)), kStart);
  key.Check(kStart, 4);
  key.Adjust(kStart, key.ReceiptTime(), -kHuge);
  EXPECT_EQ(key.Left(kStart), 10);
}

TEST(TokenBucket, SupportsOneTokenPerYear) {
  const Micros year = hours(24) * 365;
  SingleKey key(Bucket(1, Rate::Per(1, year)), kStart);
  key.Check(kStart, 1);
  EXPECT_EQ(key.Check(kStart, 1).retry_after, year);
  EXPECT_EQ(key.Left(kStart + year), 1);
}

TEST(TokenBucket, SupportsAHundredMillionTokensPerSecond) {
  SingleKey key(Bucket(1'000'000'000, Rate::PerSecond(100'000'000)), kStart);
  key.Check(kStart, 1'000'000'000);
  EXPECT_EQ(key.Left(kStart + Micros{1}), 100);
  EXPECT_EQ(key.Check(kStart, 101).retry_after, Micros{2});
}

TEST(TokenBucket, ClampsWaitsToTheLongestWait) {
  SingleKey key(Bucket(2, Rate::Per(1, kMaxWindow)), kMaxTime);
  key.Check(kMaxTime, 2);
  EXPECT_EQ(key.Check(kMaxTime, 1).retry_after, kMaxWindow);
  EXPECT_EQ(key.Check(kMaxTime, 2).retry_after, kMaxWait);
}

TEST(TokenBucket, KeepsRemainingUnitsWhenItsNumbersChange) {
  SingleKey key(Bucket(10, Rate::PerSecond(10)), kStart);
  key.Check(kStart, 7);
  key.ChangeLimit(Bucket(1000, Rate::PerSecond(1)), kStart + seconds(2));
  EXPECT_EQ(key.Left(kStart + seconds(2)), 5);
  key.ChangeLimit(Bucket(1, Rate::PerSecond(1)), kStart + seconds(2));
  EXPECT_EQ(key.Left(kStart + seconds(2)), 1);
}

TEST(LeakyBucket, DelaysEachCallerBehindEarlierOnes) {
  SingleKey key(Limit::LeakyBucket({.capacity = 5, .leak = Rate::PerSecond(2)}).value(), kStart);
  EXPECT_EQ(key.Check(kStart, 1).delay, Micros{0});
  EXPECT_EQ(key.Check(kStart, 3).delay, milliseconds(500));
  EXPECT_EQ(key.Check(kStart, 1).delay, seconds(2));
  EXPECT_EQ(key.Check(kStart, 1).outcome, Outcome::kDenied);
  EXPECT_EQ(key.Check(kStart + seconds(2), 1).delay, milliseconds(500));
}

TEST(LeakyBucket, RoundsDelaysUp) {
  SingleKey key(Limit::LeakyBucket({.capacity = 5, .leak = Rate::PerSecond(3)}).value(), kStart);
  key.Check(kStart, 1);
  EXPECT_EQ(key.Check(kStart, 1).delay, Micros{333'334});
}

}  // namespace
}  // namespace sluice::algo::testing
