#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "algo/testing/single_key.h"

namespace sluice::algo::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Limit Slots(std::int64_t limit) {
  return Limit::Concurrency({.limit = limit, .time_to_live = seconds(10)}).value();
}

TEST(Concurrency, AdmitsAsManyAsThereAreSlots) {
  SingleKey key(Slots(2), kStart);
  EXPECT_EQ(key.Check(kStart, 1, 1).outcome, Outcome::kAllowed);
  EXPECT_EQ(key.Check(kStart, 1, 2).outcome, Outcome::kAllowed);
  EXPECT_EQ(key.Check(kStart, 1, 3).outcome, Outcome::kDenied);
  EXPECT_TRUE(key.Release(kStart, 1));
  EXPECT_EQ(key.Check(kStart, 1, 3).outcome, Outcome::kAllowed);
}

TEST(Concurrency, ReleasesASlotOnce) {
  SingleKey key(Slots(2), kStart);
  key.Check(kStart, 2, 7);
  EXPECT_TRUE(key.Release(kStart, 7));
  EXPECT_FALSE(key.Release(kStart, 7));
  EXPECT_FALSE(key.Release(kStart, 8));
  EXPECT_EQ(key.Left(kStart), 2);
}

TEST(Concurrency, ExpiresASlotThatWasNotReleased) {
  SingleKey key(Slots(1), kStart);
  key.Check(kStart, 1, 1);
  EXPECT_EQ(key.Check(kStart + seconds(4), 1, 2).retry_after, seconds(6));
  EXPECT_TRUE(key.Holds(kStart + seconds(10) - Micros{1}, 1));
  EXPECT_FALSE(key.Holds(kStart + seconds(10), 1));
  EXPECT_EQ(key.Check(kStart + seconds(10), 1, 2).outcome, Outcome::kAllowed);
}

TEST(Concurrency, RenewsOnlyHeldSlots) {
  SingleKey key(Slots(1), kStart);
  key.Check(kStart, 1, 1);
  EXPECT_TRUE(key.Renew(kStart + seconds(9), 1));
  EXPECT_FALSE(key.Renew(kStart + seconds(9), 2));
  EXPECT_TRUE(key.Holds(kStart + seconds(18), 1));
  EXPECT_FALSE(key.Renew(kStart + seconds(19), 1));
}

TEST(Concurrency, WaitsForAsManySlotsAsItNeeds) {
  SingleKey key(Slots(5), kStart);
  key.Check(kStart, 2, 1);
  key.Check(kStart + seconds(1), 1, 2);
  key.Check(kStart + seconds(2), 2, 3);
  EXPECT_EQ(key.Check(kStart + seconds(3), 2, 4).retry_after, seconds(7));
  EXPECT_EQ(key.Check(kStart + seconds(3), 3, 4).retry_after, seconds(8));
  EXPECT_EQ(key.Check(kStart + seconds(3), 5, 4).retry_after, seconds(9));
}

TEST(Concurrency, ASlotDoesNotOutliveItsTimeToLiveWhenTheClockIsSetBack) {
  SingleKey key(Slots(1), kStart);
  key.Check(kStart, 1, 1);
  const WallTime earlier = kStart - hours(1);
  EXPECT_EQ(key.Check(earlier, 1, 2).retry_after, seconds(10));
  EXPECT_EQ(key.Check(earlier + seconds(10), 1, 2).outcome, Outcome::kAllowed);
}

TEST(Concurrency, KeepsItsHoldersWhenTheLimitShrinks) {
  SingleKey key(Slots(3), kStart);
  for (std::uint64_t slot = 1; slot <= 3; ++slot) key.Check(kStart, 1, slot);
  key.ChangeLimit(Slots(1), kStart);
  EXPECT_EQ(key.Left(kStart), -2);
  EXPECT_TRUE(key.Release(kStart, 2));
  EXPECT_EQ(key.Left(kStart), -1);
}

}  // namespace
}  // namespace sluice::algo::testing
