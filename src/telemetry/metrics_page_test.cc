#include "telemetry/metrics_page.h"

#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/process_stats.h"
#include "telemetry/testing/exposition.h"
#include "telemetry/testing/sample_page.h"

namespace sluice::telemetry {
namespace {

using ::testing::EndsWith;
using testing::Exposition;
using ::testing::IsEmpty;
using testing::ParseExposition;
using testing::SamplePage;
using ::testing::SizeIs;

TEST(MetricsPageTest, ThePageIsAsTheFormatWantsIt) {
  EXPECT_THAT(ParseExposition(SamplePage()).problems, IsEmpty());
}

TEST(MetricsPageTest, ItHasEveryRowOfTheTable) {
  const Exposition page = ParseExposition(SamplePage());
  EXPECT_EQ(page.Value("sample_plain_total", {}), "3");
  EXPECT_EQ(page.Value("sample_level", {}), "-2");
  EXPECT_EQ(page.Value("sample_ready", {}), "1");
  EXPECT_EQ(page.Value("sample_outcomes_total", {{"outcome", "good"}}), "4");
  EXPECT_EQ(page.Value("sample_outcomes_total", {{"outcome", "bad"}}), "0");
  EXPECT_EQ(page.Value("sample_seconds_count", {{"algorithm", "token_bucket"}, {"outcome", "bad"}}),
            "1");
  EXPECT_EQ(page.Value("sample_seconds_sum", {{"algorithm", "token_bucket"}, {"outcome", "bad"}}),
            "0.0003");
  EXPECT_EQ(page.Value("sample_answers_total", {{"hit", "true"}}), "5");
  EXPECT_EQ(page.Value("sample_answers_total", {{"hit", "false"}}), "6");
  EXPECT_EQ(page.Value("sample_cpu_seconds_total", {}), "1.25");
  EXPECT_EQ(page.Value("sample_loaded_timestamp_seconds", {}), "1700000000");
  EXPECT_EQ(page.Value("sample_ratio", {}), "0.25");
  EXPECT_EQ(page.Value("sample_rule_calls_total", {{"rule", "search \"\\\n"}}), "4");
  EXPECT_EQ(page.Value("sample_rule_calls_total", {{"rule", "login"}}), "2");
}

TEST(MetricsPageTest, AMemberWithoutANameHasNoSeries) {
  EXPECT_THAT(ParseExposition(SamplePage()).Find("sample_outcomes_total")->samples, SizeIs(2));
}

TEST(MetricsPageTest, WithoutInstancesThereIsNoFamily) {
  std::string page;
  PrometheusText text(page, MetricsFormat::kPrometheus, {});
  WriteMetrics(text, std::vector<Labeled<ProcessStats>>{});
  EXPECT_EQ(page, "");
}

TEST(MetricsPageTest, ConstantLabelsAreOnEverySeries) {
  const std::vector<std::pair<std::string, std::string>> labels{{"region", "eu"}};
  const Exposition page = ParseExposition(
      SamplePage(MetricsFormat::kPrometheus, ConstantLabels::Create(labels).value()));
  EXPECT_THAT(page.problems, IsEmpty());
  for (const testing::ParsedFamily& family : page.families) {
    for (const testing::ParsedSample& sample : family.samples) {
      EXPECT_TRUE(sample.labels.contains("region")) << sample.name;
    }
  }
}

// There, families lose their endings, and two that differ in nothing else would become one.
TEST(MetricsPageTest, InOpenMetricsFamiliesStillHaveNamesOfTheirOwn) {
  static const std::regex kHelp("# HELP ([a-z_]+) ");
  const std::string page = SamplePage(MetricsFormat::kOpenMetrics);
  std::set<std::string> seen;
  for (auto help = std::sregex_iterator(page.begin(), page.end(), kHelp);
       help != std::sregex_iterator(); ++help) {
    EXPECT_TRUE(seen.insert((*help)[1]).second) << (*help)[1];
  }
  EXPECT_THAT(page, EndsWith("\n# EOF\n"));
}

TEST(ProcessStatsTest, AProcessKnowsItself) {
  const auto process = ReadProcess();
  ASSERT_TRUE(process.has_value()) << "no /proc";
  EXPECT_GT(process->resident_bytes, 100'000U);
  EXPECT_GE(process->virtual_bytes, process->resident_bytes);
  EXPECT_GE(process->open_fds, 3U);
  EXPECT_GE(process->max_fds, process->open_fds);
  EXPECT_GT(process->start_time_seconds, 1.6e9);
}

}  // namespace
}  // namespace sluice::telemetry
