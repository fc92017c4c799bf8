#include "telemetry/histogram.h"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::telemetry {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

HistogramTotals Read(const Histogram& histogram) {
  HistogramTotals totals;
  histogram.AddTo(totals);
  return totals;
}

TEST(HistogramTest, BucketsGoFromAMicrosecondToATenthOfASecond) {
  EXPECT_EQ(kBucketEnds.front(), 1us);
  EXPECT_EQ(kBucketEnds[1], 2us);
  EXPECT_EQ(kBucketEnds[2], 5us);
  EXPECT_EQ(kBucketEnds[3], 10us);
  EXPECT_EQ(kBucketEnds.back(), 100ms);
}

TEST(HistogramTest, ABucketHoldsItsUpperEndAndNothingAbove) {
  for (std::size_t i = 0; i < kBucketEnds.size(); ++i) {
    Histogram histogram;
    histogram.Record(kBucketEnds[i]);
    histogram.Record(kBucketEnds[i] + 1ns);
    const HistogramTotals totals = Read(histogram);
    EXPECT_EQ(totals.buckets[i], 1U) << i;
    EXPECT_EQ(totals.buckets[i + 1], 1U) << i;
  }
}

TEST(HistogramTest, NothingIsTooShortOrTooLong) {
  Histogram histogram;
  histogram.Record(0ns);
  histogram.Record(-5s);  // A clock that was set back.
  histogram.Record(24h);
  const HistogramTotals totals = Read(histogram);
  EXPECT_EQ(totals.buckets.front(), 2U);
  EXPECT_EQ(totals.buckets.back(), 1U);
  EXPECT_EQ(totals.count(), 3U);
  EXPECT_EQ(totals.sum, nanoseconds(24h));
}

TEST(HistogramTest, SeveralAreReadAsOne) {
  Histogram one;
  Histogram other;
  one.Record(3us);
  other.Record(4us);
  other.Record(1ms);
  HistogramTotals totals;
  one.AddTo(totals);
  other.AddTo(totals);
  EXPECT_EQ(totals.count(), 3U);
  EXPECT_EQ(totals.buckets[2], 2U);
  EXPECT_EQ(totals.sum, 1007us);
}

}  // namespace
}  // namespace sluice::telemetry
