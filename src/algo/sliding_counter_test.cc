#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "algo/testing/single_key.h"

namespace sluice::algo::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Limit PerTenSeconds(std::int64_t limit) {
  return Limit::SlidingWindowCounter({.limit = limit, .window = seconds(10)}).value();
}

TEST(SlidingCounter, WeighsThePreviousWindowByItsOverlap) {
  SingleKey key(PerTenSeconds(100), kStart);
  key.Check(kStart + seconds(9), 100);
  EXPECT_EQ(key.Left(kStart + seconds(10)), 0);
  EXPECT_EQ(key.Left(kStart + seconds(15)), 50);
  EXPECT_EQ(key.Left(kStart + seconds(19)), 90);
  EXPECT_EQ(key.Left(kStart + seconds(20)), 100);
}

TEST(SlidingCounter, RoundsTheWeightDown) {
  SingleKey key(PerTenSeconds(100), kStart);
  key.Check(kStart, 3);
  EXPECT_EQ(key.Left(kStart + seconds(10)), 97);
  EXPECT_EQ(key.Left(kStart + seconds(10) + Micros{1}), 98);
}

TEST(SlidingCounter, WaitsIntoTheNextWindowIfThisOneIsTooFull) {
  SingleKey key(PerTenSeconds(10), kStart);
  key.Check(kStart + seconds(5), 10);
  // In the next window ten weigh five from a microsecond after four tenths on.
  EXPECT_EQ(key.Check(kStart + seconds(5), 5).retry_after, seconds(9) + Micros{1});
  EXPECT_EQ(key.Left(kStart + seconds(14)), 4);
  EXPECT_EQ(key.Left(kStart + seconds(14) + Micros{1}), 5);
}

TEST(SlidingCounter, IsFreshWhenThePreviousWindowWeighsNothing) {
  SingleKey key(PerTenSeconds(10), kStart);
  EXPECT_EQ(key.Check(kStart, 1).reset_after, seconds(10) + Micros{1});
  EXPECT_EQ(key.Check(kStart, 1).reset_after, seconds(15) + Micros{1});
}

TEST(SlidingCounter, RefundsToThisWindowAndThePreviousOne) {
  SingleKey key(PerTenSeconds(10), kStart);
  key.Check(kStart, 6);
  key.Check(kStart + seconds(10), 2);
  key.Adjust(kStart + seconds(10), kStart, -4);
  EXPECT_EQ(key.Left(kStart + seconds(10)), 6);
  key.Adjust(kStart + seconds(10), kStart + seconds(10), -1);
  EXPECT_EQ(key.Left(kStart + seconds(10)), 7);
  key.Adjust(kStart + seconds(10), kStart - seconds(10), -5);
  EXPECT_EQ(key.Left(kStart + seconds(10)), 7);
}

TEST(SlidingCounter, IsExactAtTheLargestSizes) {
  const Limit limit =
      Limit::SlidingWindowCounter({.limit = kMaxAmount, .window = kMaxWindow}).value();
  const WallTime window_begin{kMaxWindow};
  SingleKey key(limit, WallTime{});
  key.Check(WallTime{}, kMaxAmount);
  // Falls by one every third of a microsecond or so; the rest is for the model to check.
  EXPECT_EQ(key.Left(window_begin), 0);
  EXPECT_EQ(key.Left(window_begin + Micros{1}), kMaxAmount / kMaxWindow.count() + 1);
}

TEST(SlidingCounter, CarriesItsEstimateIntoAWindowOfOtherLength) {
  SingleKey key(PerTenSeconds(100), kStart);
  key.Check(kStart, 80);
  const Limit minute = Limit::SlidingWindowCounter({.limit = 100, .window = seconds(60)}).value();
  key.ChangeLimit(minute, kStart + seconds(15));
  EXPECT_EQ(key.Left(kStart + seconds(15)), 60);
  EXPECT_EQ(key.Left(kStart + seconds(59)), 60);
}

TEST(SlidingCounter, KeepsItsWindowsWhenOnlyTheLimitChanges) {
  SingleKey key(PerTenSeconds(100), kStart);
  key.Check(kStart, 80);
  key.ChangeLimit(PerTenSeconds(50), kStart + seconds(15));
  EXPECT_EQ(key.Left(kStart + seconds(15)), 10);
  EXPECT_EQ(key.Left(kStart + seconds(17) + milliseconds(500)), 30);
}

}  // namespace
}  // namespace sluice::algo::testing
