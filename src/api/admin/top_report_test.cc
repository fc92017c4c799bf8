#include "api/admin/top_report.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "control/record.h"

namespace sluice::api {
namespace {

using telemetry::SpaceSaving;
using telemetry::TopDimension;
using telemetry::TopWindow;

constexpr WallTime kReportTime{std::chrono::minutes(1'000'000)};

void CountConsumers(telemetry::InsightState& state, TopDimension dimension,
                    const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  SpaceSaving sketch;
  for (const auto& [key, count] : counts) {
    const auto added = sketch.Add(std::hash<std::string>{}(key) | 1, count);
    if (added.new_text != nullptr) added.new_text->Set("search", key, "", true);
    added.counter.utilization = 0.5F;
  }
  state.top[static_cast<std::size_t>(dimension)].Add(telemetry::SliceOf(sketch, 1, kReportTime),
                                                     kReportTime);
}

TEST(TopReport, IsReadAsItWasWritten) {
  telemetry::InsightState state;
  CountConsumers(state, TopDimension::kDenied, {{"alice", 7}, {"bob", 3}});
  CountConsumers(state, TopDimension::kAllowed, {{"bob", 5}});
  const std::string text = WriteTopReport(state, TopWindow::kMinute);
  const auto denied = ReadTopReport(text, TopBy::kDenied);
  ASSERT_TRUE(denied);
  ASSERT_EQ(denied->slice.rows.size(), 2U);
  EXPECT_EQ(denied->slice.rows[0].rule, "search");
  EXPECT_EQ(denied->slice.rows[0].key, "alice");
  EXPECT_EQ(denied->slice.rows[0].count, 7U);
  EXPECT_EQ(denied->slice.rows[0].Error(), 0U);
  EXPECT_TRUE(denied->slice.rows[0].is_secret);
  EXPECT_DOUBLE_EQ(denied->slice.rows[0].utilization, 0.5);
  EXPECT_EQ(denied->slice.rows[0].last, kReportTime);
  const auto by_utilization = ReadTopReport(text, TopBy::kUtilization);
  ASSERT_TRUE(by_utilization);
  ASSERT_EQ(by_utilization->slice.rows.size(), 2U);
  EXPECT_EQ(by_utilization->slice.rows[0].count, 8U);  // Of bob: denied and allowed.
  EXPECT_FALSE(ReadTopReport("{}", TopBy::kDenied));
  EXPECT_FALSE(ReadTopReport("not JSON", TopBy::kDenied));
}

TEST(TopReport, NodesAddUpAndTheBoundHasWhatTheyDidNotPublish) {
  std::vector<TopReport> reports;
  for (int node = 0; node < 3; ++node) {
    telemetry::InsightState state;
    std::vector<std::pair<std::string, std::uint64_t>> counts = {{"everywhere", 1000}};
    if (node == 0) counts.emplace_back("on one node", 400);
    for (int i = 0; i < 400; ++i) {
      counts.emplace_back("small " + std::to_string(node) + "/" + std::to_string(i), 10);
    }
    CountConsumers(state, TopDimension::kDenied, counts);
    reports.push_back(*ReadTopReport(WriteTopReport(state, TopWindow::kMinute), TopBy::kDenied));
    EXPECT_EQ(reports.back().slice.rows.size(), kPublishedRows);
    EXPECT_EQ(reports.back().slice.max_absent, 10U);
  }
  const TopReport merged = Merge(reports);
  EXPECT_EQ(merged.slice.rows[0].key, "everywhere");
  EXPECT_EQ(merged.slice.rows[0].count, 3000U);
  EXPECT_EQ(merged.slice.rows[0].Error(), 0U);
  EXPECT_EQ(merged.slice.rows[1].key, "on one node");
  EXPECT_EQ(merged.slice.rows[1].count, 400U);
  EXPECT_EQ(merged.slice.rows[1].Error(), 20U);  // Two nodes may have cut it.
  EXPECT_EQ(merged.slice.max_absent, 30U);
}

TEST(TopReport, HostileKeysFitIntoAStoresReport) {
  telemetry::InsightState state;
  for (const TopDimension dimension :
       {TopDimension::kDenied, TopDimension::kAllowed, TopDimension::kCost}) {
    std::vector<std::pair<std::string, std::uint64_t>> counts;
    for (int i = 0; i < 256; ++i) {
      counts.emplace_back(std::string(200, '\x01') + std::to_string(i), 1000 - i);
    }
    CountConsumers(state, dimension, counts);
  }
  const std::string text = WriteTopReport(state, TopWindow::kHour);
  EXPECT_LE(text.size(), control::kMaxReportBytes);
  const auto report = ReadTopReport(text, TopBy::kDenied);
  ASSERT_TRUE(report);
  EXPECT_GT(report->slice.rows.size(), 10U);
  EXPECT_GT(report->slice.max_absent, 700U);  // Rows that did not fit.
}

}  // namespace
}  // namespace sluice::api
