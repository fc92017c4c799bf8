#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "algo/testing/single_key.h"

namespace sluice::algo::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Limit PerMinute(std::int64_t limit, Anchor anchor = Anchor::kEpoch) {
  return Limit::FixedWindow({.limit = limit, .window = seconds(60), .anchor = anchor}).value();
}

TEST(FixedWindow, BeginsAtMultiplesOfItsLengthSinceTheEpoch) {
  SingleKey key(PerMinute(2), kStart);
  key.Check(kStart + seconds(59), 2);
  EXPECT_EQ(key.ReceiptTime(), kStart);
  EXPECT_EQ(key.Check(kStart + seconds(59), 1).retry_after, seconds(1));
  EXPECT_EQ(key.Check(kStart + seconds(60), 2).outcome, Outcome::kAllowed);
}

TEST(FixedWindow, IsFreshUntilSomethingIsUsed) {
  SingleKey key(PerMinute(2), kStart);
  EXPECT_EQ(key.Check(kStart + seconds(1), 0).reset_after, Micros{0});
  EXPECT_EQ(key.Check(kStart + seconds(1), 1).reset_after, seconds(59));
}

TEST(FixedWindow, MayLastAHundredYears) {
  SingleKey key(Limit::FixedWindow({.limit = 1, .window = kMaxWindow}).value(), kStart);
  key.Check(kStart, 1);
  EXPECT_EQ(key.Check(kStart, 1).retry_after, WallTime{kMaxWindow} - kStart);
}

TEST(FixedWindow, MayLastAMicrosecond) {
  SingleKey key(Limit::FixedWindow({.limit = 1, .window = Micros{1}}).value(), kStart);
  key.Check(kStart, 1);
  EXPECT_EQ(key.Check(kStart, 1).retry_after, Micros{1});
  EXPECT_EQ(key.Check(kStart + Micros{1}, 1).outcome, Outcome::kAllowed);
}

TEST(FixedWindow, ClampsItsCount) {
  SingleKey key(PerMinute(kMaxAmount), kStart);
  key.Force(kStart, INT64_MAX);
  key.Force(kStart, INT64_MAX);
  EXPECT_EQ(key.Left(kStart), 0);
  key.Adjust(kStart, kStart, -INT64_MAX);
  EXPECT_EQ(key.Left(kStart), kMaxAmount);
}

TEST(FixedWindow, RefundsOnlyToTheWindowOfTheReceipt) {
  SingleKey key(PerMinute(5), kStart);
  key.Check(kStart, 3);
  key.Adjust(kStart + seconds(61), kStart, -3);
  EXPECT_EQ(key.Left(kStart + seconds(61)), 5);
  key.Check(kStart + seconds(61), 2);
  key.Adjust(kStart + seconds(62), kStart, -2);
  EXPECT_EQ(key.Left(kStart + seconds(62)), 3);
  key.Adjust(kStart + seconds(62), kStart + seconds(60), -2);
  EXPECT_EQ(key.Left(kStart + seconds(62)), 5);
}

TEST(FixedWindow, KeepsItsWindowIfTheClockIsSlightlyBehind) {
  SingleKey key(PerMinute(2), kStart);
  key.Check(kStart, 2);
  EXPECT_EQ(key.Check(kStart - seconds(1), 1).retry_after, seconds(61));
}

TEST(FixedWindow, KeepsItsCountWhenTheClockIsSetBack) {
  SingleKey key(PerMinute(2), kStart);
  key.Check(kStart, 2);
  EXPECT_EQ(key.Check(kStart - seconds(90), 1).retry_after, seconds(30));
  EXPECT_EQ(key.Check(kStart - seconds(60), 1).outcome, Outcome::kAllowed);
}

TEST(FixedWindow, CarriesItsCountIntoAWindowOfOtherLength) {
  SingleKey key(PerMinute(10), kStart);
  key.Check(kStart + seconds(30), 4);
  const Limit hourly = Limit::FixedWindow({.limit = 10, .window = hours(1)}).value();
  key.ChangeLimit(hourly, kStart + seconds(40));
  EXPECT_EQ(key.Left(kStart + seconds(40)), 6);
  EXPECT_EQ(key.Left(kStart + seconds(70)), 6);
}

TEST(FirstHitWindow, BeginsWithTheFirstCallThatCounts) {
  SingleKey key(PerMinute(2, Anchor::kFirstHit), kStart);
  key.Check(kStart + seconds(10), 0);
  key.Check(kStart + seconds(42), 1);
  EXPECT_EQ(key.Check(kStart + seconds(50), 1).reset_after, seconds(52));
  EXPECT_EQ(key.Check(kStart + seconds(101), 1).outcome, Outcome::kDenied);
  EXPECT_EQ(key.Check(kStart + seconds(102), 1).reset_after, seconds(60));
}

TEST(FirstHitWindow, IsFreshAfterAFullRefund) {
  SingleKey key(PerMinute(2, Anchor::kFirstHit), kStart);
  key.Check(kStart, 2);
  key.Adjust(kStart + seconds(1), kStart, -2);
  EXPECT_EQ(key.Check(kStart + seconds(30), 1).reset_after, seconds(60));
}

TEST(FirstHitWindow, TakesARefundWithoutAReceiptAsItsOwn) {
  SingleKey key(PerMinute(3, Anchor::kFirstHit), kStart);
  key.Check(kStart, 3);
  key.Adjust(kStart + seconds(1), kMaxTime, -1);
  EXPECT_EQ(key.Left(kStart + seconds(1)), 1);
  EXPECT_EQ(key.Check(kStart + seconds(2), 0).reset_after, seconds(58)) << "the window stays";
  key.Adjust(kStart + seconds(3), kMaxTime, -100);
  EXPECT_EQ(key.Left(kStart + seconds(3)), 3) << "never more than was counted";
}

}  // namespace
}  // namespace sluice::algo::testing
