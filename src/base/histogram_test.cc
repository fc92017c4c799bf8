#include "base/histogram.h"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

TEST(HistogramTest, BucketsGoFromAMicrosecondToATenthOfASecond) {
  EXPECT_EQ(kBucketEnds.front(), 1us);
  EXPECT_EQ(kBucketEnds[1], 2us);
  EXPECT_EQ(kBucketEnds[2], 5us);
  EXPECT_EQ(kBucketEnds[3], 10us);
  EXPECT_EQ(kBucketEnds.back(), 100ms);
}

TEST(HistogramTest, ABucketIncludesItsUpperBound) {
  for (std::size_t i = 0; i < kBucketEnds.size(); ++i) {
    Histogram histogram;
    histogram.Record(kBucketEnds[i]);
    histogram.Record(kBucketEnds[i] + 1ns);
    EXPECT_EQ(histogram.bucket(i), 1U) << i;
    EXPECT_EQ(histogram.bucket(i + 1), 1U) << i;
  }
}

TEST(HistogramTest, ExtremeDurationsAreCounted) {
  Histogram histogram;
  histogram.Record(0ns);
  histogram.Record(-5s);  // A clock that was set back.
  histogram.Record(24h);
  EXPECT_EQ(histogram.bucket(0), 2U);
  EXPECT_EQ(histogram.bucket(kBuckets - 1), 1U);
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.sum(), nanoseconds(24h));
}

TEST(HistogramTest, HistogramsCanBeAdded) {
  Histogram one;
  Histogram other;
  one.Record(3us);
  other.Record(4us);
  other.Record(1ms);
  one += other;
  EXPECT_EQ(one.count(), 3U);
  EXPECT_EQ(one.bucket(2), 2U);
  EXPECT_EQ(one.sum(), 1007us);
}

}  // namespace
}  // namespace sluice
