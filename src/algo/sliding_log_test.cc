#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "algo/testing/single_key.h"

namespace sluice::algo::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Limit LogOfTenSeconds(std::int64_t limit) {
  return Limit::SlidingWindowLog({.limit = limit, .window = seconds(10)}).value();
}

TEST(SlidingLog, CountsACallForExactlyTheWindow) {
  SingleKey key(LogOfTenSeconds(1), kStart);
  key.Check(kStart, 1);
  EXPECT_EQ(key.Check(kStart + seconds(10) - Micros{1}, 1).retry_after, Micros{1});
  EXPECT_EQ(key.Check(kStart + seconds(10), 1).outcome, Outcome::kAllowed);
}

TEST(SlidingLog, AdmitsNoBurstAtABoundary) {
  SingleKey key(LogOfTenSeconds(5), kStart);
  EXPECT_EQ(key.Check(kStart + seconds(9), 5).outcome, Outcome::kAllowed);
  EXPECT_EQ(key.Check(kStart + seconds(11), 1).outcome, Outcome::kDenied);
}

TEST(SlidingLog, WaitsUntilEnoughOfTheOldestExpire) {
  SingleKey key(LogOfTenSeconds(6), kStart);
  for (int i = 0; i < 3; ++i) key.Check(kStart + seconds(i), 2);
  EXPECT_EQ(key.Check(kStart + seconds(3), 1).retry_after, seconds(7));
  EXPECT_EQ(key.Check(kStart + seconds(3), 3).retry_after, seconds(8));
  EXPECT_EQ(key.Check(kStart + seconds(3), 6).retry_after, seconds(9));
  EXPECT_EQ(key.Check(kStart + seconds(3), 6).reset_after, seconds(9));
}

TEST(SlidingLog, RefundsTheEntryOfTheReceipt) {
  SingleKey key(LogOfTenSeconds(6), kStart);
  key.Check(kStart, 3);
  key.Check(kStart + seconds(1), 3);
  key.Adjust(kStart + seconds(2), kStart + seconds(1), -2);
  EXPECT_EQ(key.Left(kStart + seconds(2)), 2);
  EXPECT_EQ(key.Left(kStart + seconds(10)), 5);
}

TEST(SlidingLog, DoesNotRefundAnExpiredEntry) {
  SingleKey key(LogOfTenSeconds(6), kStart);
  key.Check(kStart, 3);
  key.Check(kStart + seconds(5), 3);
  key.Adjust(kStart + seconds(10), kStart, -3);
  EXPECT_EQ(key.Left(kStart + seconds(10)), 3);
}

TEST(SlidingLog, MergesCallsOfOneMoment) {
  SingleKey key(LogOfTenSeconds(1000), kStart);
  for (int i = 0; i < 500; ++i) key.Check(kStart, 1);
  EXPECT_EQ(key.history().log.size(), 1u);
  EXPECT_EQ(key.Left(kStart), 500);
}

TEST(SlidingLog, ForgetsNoCallsWhenTheClockIsSetBack) {
  SingleKey key(LogOfTenSeconds(5), kStart);
  key.Check(kStart, 2);
  key.Check(kStart + seconds(1), 2);
  const WallTime earlier = kStart - hours(1);
  EXPECT_EQ(key.Check(earlier, 3).retry_after, seconds(10));
  EXPECT_EQ(key.Check(earlier + seconds(10), 3).outcome, Outcome::kAllowed);
}

TEST(SlidingLog, RefundsAllOfAnEntryThatOthersWereMergedInto) {
  SingleKey key(LogOfTenSeconds(10), kStart);
  key.Check(kStart, 1);
  key.Check(kStart + seconds(1), 1);
  const WallTime earlier = kStart - hours(1);
  key.Check(earlier, 5);
  key.Adjust(earlier, earlier, -5);
  EXPECT_EQ(key.Left(earlier), 8);
}

TEST(SlidingLog, RemembersCallsWhenItsWindowGrows) {
  SingleKey key(LogOfTenSeconds(5), kStart);
  key.Check(kStart, 2);
  key.ChangeLimit(Limit::SlidingWindowLog({.limit = 5, .window = seconds(60)}).value(),
                  kStart + seconds(5));
  EXPECT_EQ(key.Left(kStart + seconds(59)), 3);
  EXPECT_EQ(key.Left(kStart + seconds(60)), 5);
}

TEST(SlidingLog, DoesNotGrowWithChargesPastItsLimit) {
  SingleKey key(LogOfTenSeconds(1), kStart);
  for (int i = 0; i < 20'000; ++i) key.Force(kStart + Micros{i}, 1);
  EXPECT_LT(key.history().log.size(), 5000u);
  EXPECT_EQ(key.Left(kStart + seconds(1)), 1 - 20'000);
}

TEST(SlidingLog, DoesNotGrowWithSettlementsPastItsLimit) {
  SingleKey key(LogOfTenSeconds(1), kStart);
  const WallTime now = kStart + seconds(1);
  for (int i = 0; i < 10'000; ++i) key.Adjust(now, kStart + Micros{2 * i}, 1);
  for (int i = 0; i < 10'000; ++i) key.Adjust(now, kStart + Micros{2 * i + 1}, 1);
  EXPECT_LT(key.history().log.size(), 5000u);
  EXPECT_EQ(key.Left(now), 1 - 20'000);
}

}  // namespace
}  // namespace sluice::algo::testing
