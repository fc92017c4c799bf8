#include "api/admin/series_report.h"

#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "control/record.h"

namespace sluice::api {
namespace {

using std::chrono::seconds;
using telemetry::SeriesPoint;
using telemetry::TimeSeries;

constexpr std::size_t kLevel = TimeSeries::kByFiveSeconds;
constexpr WallTime kSeriesStart{std::chrono::minutes(1'000'000)};

SeriesSlice MakeSlice(int end_seconds, std::vector<SeriesPoint> points) {
  return {.end = kSeriesStart + seconds(end_seconds), .points = std::move(points)};
}

TEST(SeriesReport, IsReadAsItWasWritten) {
  TimeSeries series;
  telemetry::CallTotals totals;
  for (int second = 0; second <= 20; ++second) {
    series.Add(totals, kSeriesStart + seconds(second));
    totals.checks += 7;
    totals.denials += 1;
    totals.latency[0] += 7;
  }
  const auto read = ReadSeriesReport(WriteSeriesReport(series, kLevel), kLevel);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->end, kSeriesStart + seconds(20));
  ASSERT_EQ(read->points.size(), 4U);
  EXPECT_FLOAT_EQ(read->points[0].checks, 7);
  EXPECT_FLOAT_EQ(read->points[0].denials, 1);
  EXPECT_NEAR(read->points[0].p99_seconds, series.Points(kLevel)[0].p99_seconds, 1e-9);
  EXPECT_LT(read->points[0].lease_hit_ratio, 0);
}

TEST(SeriesReport, OfTheLongestTimeFitsIntoAStore) {
  TimeSeries series;
  telemetry::CallTotals totals;
  for (int second = 0; second < 7 * 3600; ++second) {
    series.Add(totals, kSeriesStart + seconds(second));
    totals.checks += 123'456'789;
    totals.denials += 98'765'432;
    totals.degraded += 1'234'567;
    totals.lease_hits += 7;
    totals.lease_fetches += 3;
    totals.latency[kBuckets - 1] += 3;
  }
  const std::string text = WriteSeriesReport(series, TimeSeries::kByHalfMinute);
  EXPECT_LT(text.size(), control::kMaxReportBytes / 2);
  EXPECT_EQ(ReadSeriesReport(text, TimeSeries::kByHalfMinute)->points.size(), 720U);
}

TEST(SeriesReport, OtherTextsAreNoReports) {
  for (const char* text :
       {"", "[]", "{}", R"({"end":1})", R"({"end":-1,"points":[]})", R"({"end":"1","points":[]})",
        R"({"end":1,"points":{}})", R"({"end":1,"points":[1]})", R"({"end":1,"points":[["1"]]})",
        R"({"end":1,"points":[[1,2,3,4,5,6,7]]})"}) {
    EXPECT_FALSE(ReadSeriesReport(text, kLevel)) << text;
  }
  std::string many = R"({"end":1,"points":[[])";
  for (int i = 0; i < 120; ++i) many += ",[]";
  EXPECT_FALSE(ReadSeriesReport(many + "]}", kLevel));
}

TEST(MergedSeries, AddsRatesOfTheSameStep) {
  const std::array nodes = {
      MakeSlice(20, {{.checks = 1}, {.checks = 2, .denials = 1, .p99_seconds = 0.1F}}),
      MakeSlice(20, {{.checks = 10, .denials = 3, .p99_seconds = 0.2F}})};
  const SeriesSlice merged = Merge(nodes, kLevel);
  EXPECT_EQ(merged.end, kSeriesStart + seconds(20));
  ASSERT_EQ(merged.points.size(), 2U);
  EXPECT_FLOAT_EQ(merged.points[0].checks, 1);
  EXPECT_FLOAT_EQ(merged.points[1].checks, 12);
  EXPECT_FLOAT_EQ(merged.points[1].denials, 4);
  EXPECT_FLOAT_EQ(merged.points[1].p99_seconds, 0.2F);
  EXPECT_LT(merged.points[0].p99_seconds, 0);
}

TEST(MergedSeries, EndsWhereAllNodesEndThatStillReport) {
  const SeriesSlice ahead = MakeSlice(40, {{.checks = 1}, {.checks = 1}, {.checks = 1}});
  const SeriesSlice behind = MakeSlice(35, {{.checks = 1}, {.checks = 1}});
  const SeriesSlice gone = MakeSlice(20, {{.checks = 5}, {.checks = 5}});
  const SeriesSlice merged = Merge(std::array{ahead, behind, gone}, kLevel);
  EXPECT_EQ(merged.end, kSeriesStart + seconds(35));
  ASSERT_EQ(merged.points.size(), 5U);  // Since the one that is gone began.
  EXPECT_FLOAT_EQ(merged.points[0].checks, 5);
  EXPECT_FLOAT_EQ(merged.points[1].checks, 5);
  EXPECT_LT(merged.points[2].checks, 1.5F);
  EXPECT_FLOAT_EQ(merged.points[4].checks, 2);
}

TEST(MergedSeries, WeighsLeaseHitsByChecks) {
  const std::array nodes = {MakeSlice(20, {{.checks = 30, .lease_hit_ratio = 1}}),
                            MakeSlice(20, {{.checks = 10, .lease_hit_ratio = 0}}),
                            MakeSlice(20, {{.checks = 1000}})};
  EXPECT_FLOAT_EQ(Merge(nodes, kLevel).points[0].lease_hit_ratio, 0.75F);
}

TEST(MergedSeries, OfNoNodesIsEmpty) { EXPECT_TRUE(Merge({}, kLevel).points.empty()); }

TEST(MergedSeries, HasAtMostThePointsOfItsLevel) {
  const std::array nodes = {MakeSlice(3600, {{.checks = 1}}), MakeSlice(0, {{.checks = 1}})};
  EXPECT_EQ(Merge(nodes, kLevel).points.size(), 120U);
}

}  // namespace
}  // namespace sluice::api
