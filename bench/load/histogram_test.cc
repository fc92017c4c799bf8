#include "load/histogram.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using std::chrono::nanoseconds;

TEST(Histogram, HasNoTimesAtFirst) {
  EXPECT_EQ(Histogram().Quantile(0.5), nanoseconds(0));
  EXPECT_EQ(Histogram().count(), 0U);
}

TEST(Histogram, IsExactForShortTimes) {
  Histogram histogram;
  for (int i = 1; i <= 200; ++i) histogram.Record(nanoseconds(i));
  EXPECT_EQ(histogram.Quantile(0.5), nanoseconds(100));
  EXPECT_EQ(histogram.Quantile(0.99), nanoseconds(198));
  EXPECT_EQ(histogram.Quantile(1), nanoseconds(200));
  EXPECT_EQ(histogram.Quantile(0), nanoseconds(1));
}

TEST(Histogram, OneLateReplyInAThousandShowsInTheLastQuantileOnly) {
  Histogram histogram;
  for (int i = 0; i < 998; ++i) histogram.Record(nanoseconds(50));
  for (int i = 0; i < 2; ++i) histogram.Record(std::chrono::milliseconds(7));
  EXPECT_EQ(histogram.Quantile(0.99), nanoseconds(50));
  EXPECT_EQ(histogram.Quantile(0.999), std::chrono::milliseconds(7));
}

TEST(Histogram, TellsTimesOfAnySizeWithinOnePercentAndNeverTooShort) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> times;
  Histogram histogram;
  for (int i = 0; i < 10'000; ++i) {
    times.push_back(static_cast<std::int64_t>(random() >> (24 + random() % 40)));
    histogram.Record(nanoseconds(times.back()));
  }
  std::sort(times.begin(), times.end());
  for (std::size_t i = 0; i < times.size(); i += 97) {
    const double part = static_cast<double>(i + 1) / static_cast<double>(times.size());
    const std::int64_t told = histogram.Quantile(part).count();
    EXPECT_GE(told, times[i]) << part;
    EXPECT_LE(static_cast<double>(told), static_cast<double>(times[i]) * 1.01) << part;
  }
}

TEST(Histogram, CountsWhatTookTooLongAsTheLongestThereWas) {
  Histogram histogram;
  histogram.Record(nanoseconds(5));
  histogram.Record(std::chrono::hours(5));
  EXPECT_EQ(histogram.Quantile(1), std::chrono::hours(5));
  EXPECT_EQ(histogram.Quantile(0.5), nanoseconds(5));
}

}  // namespace
}  // namespace sluice::bench
