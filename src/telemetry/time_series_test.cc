#include "telemetry/time_series.h"

#include <chrono>

#include <gtest/gtest.h>

namespace sluice::telemetry {
namespace {

using std::chrono::seconds;

constexpr WallTime kStart{std::chrono::minutes(1'000'000)};

TEST(TimeSeries, EachStepHasItsRates) {
  TimeSeries series;
  CallTotals totals;
  for (int second = 0; second <= 60; ++second) {
    series.Add(totals, kStart + seconds(second));
    totals.checks += 10;
    totals.denials += 2;
    totals.lease_hits += 3;
    totals.lease_fetches += 1;
    totals.latency[0] += 10;
  }
  const auto points = series.Points(0);
  ASSERT_EQ(points.size(), 60U);
  for (const SeriesPoint& point : points) {
    EXPECT_FLOAT_EQ(point.checks, 10);
    EXPECT_FLOAT_EQ(point.denials, 2);
    EXPECT_FLOAT_EQ(point.degraded, 0);
    EXPECT_FLOAT_EQ(point.lease_hit_ratio, 0.75);
    EXPECT_GT(point.p99_seconds, point.p50_seconds);
    EXPECT_LE(point.p99_seconds, 1e-6F);
  }
  ASSERT_EQ(series.Points(TimeSeries::kByFiveSeconds).size(), 12U);
  EXPECT_FLOAT_EQ(series.Points(TimeSeries::kByFiveSeconds)[11].checks, 10);
  ASSERT_EQ(series.Points(TimeSeries::kByHalfMinute).size(), 2U);
  EXPECT_FLOAT_EQ(series.Points(TimeSeries::kByHalfMinute)[0].checks, 10);
  EXPECT_EQ(series.EndOf(0), kStart + seconds(60));
}

TEST(TimeSeries, MissedStepsShareWhatWasCounted) {
  TimeSeries series;
  CallTotals totals;
  series.Add(totals, kStart);
  totals.checks = 40;
  series.Add(totals, kStart + seconds(4));
  ASSERT_EQ(series.Points(0).size(), 4U);
  EXPECT_FLOAT_EQ(series.Points(0)[0].checks, 10);
  EXPECT_LT(series.Points(0)[0].p50_seconds, 0);
  EXPECT_LT(series.Points(0)[0].lease_hit_ratio, 0);
}

TEST(TimeSeries, OldPointsMakeRoomForNewOnes) {
  TimeSeries series;
  CallTotals totals;
  for (int second = 0; second < 7 * 3600; ++second) {
    series.Add(totals, kStart + seconds(second));
    ++totals.checks;
  }
  EXPECT_EQ(series.Points(0).size(), 600U);
  EXPECT_EQ(series.Points(TimeSeries::kByFiveSeconds).size(), 120U);
  EXPECT_EQ(series.Points(TimeSeries::kByHalfMinute).size(), 720U);
}

}  // namespace
}  // namespace sluice::telemetry
