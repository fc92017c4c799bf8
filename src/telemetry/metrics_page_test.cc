#include "telemetry/metrics_page.h"

#include <fstream>
#include <iterator>
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
#include "telemetry/testing/sample_snapshot.h"

namespace sluice::telemetry {
namespace {

using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

std::string Page(MetricsFormat format = MetricsFormat::kPrometheus,
                 const ConstantLabels& constant = {}) {
  std::string out;
  AppendMetricsPage(testing::SampleSnapshot(), format, constant, out);
  return out;
}

std::string ReadSource(const std::string& name) {
  std::ifstream file(std::string(SLUICE_SOURCE_DIR "/") + name);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

// As samples have them: of histograms with their endings.
std::set<std::string> SampleNames() {
  std::set<std::string> names;
  const testing::Exposition page = testing::ParseExposition(Page());
  for (const testing::ParsedFamily& family : page.families) {
    for (const testing::ParsedSample& sample : family.samples) names.insert(sample.name);
  }
  return names;
}

std::set<std::string> MetricNamesIn(const std::string& text) {
  static const std::regex kName(R"(\b(rate_limiter|process)_[a-z0-9_]+)");
  return {std::sregex_token_iterator(text.begin(), text.end(), kName),
          std::sregex_token_iterator()};
}

TEST(MetricsPageTest, ThePageIsAsTheFormatWantsIt) {
  EXPECT_THAT(testing::ParseExposition(Page()).problems, IsEmpty());
}

TEST(MetricsPageTest, ASnapshotOfNothingIsAPageToo) {
  std::string out;
  AppendMetricsPage({}, MetricsFormat::kPrometheus, {}, out);
  const testing::Exposition page = testing::ParseExposition(out);
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_EQ(page.Find("rate_limiter_active_keys"), nullptr);
  EXPECT_EQ(page.Find("process_cpu_seconds_total"), nullptr);
}

TEST(MetricsPageTest, ItTellsWhatTheLoopsCounted) {
  const testing::Exposition page = testing::ParseExposition(Page());
  const auto value = [&](const std::string& name, std::map<std::string, std::string> labels) {
    return page.Value("rate_limiter_" + name, labels);
  };
  EXPECT_EQ(value("calls_total", {{"protocol", "http"}, {"outcome", "denied"}}), "1");
  EXPECT_EQ(value("calls_total", {{"protocol", "resp"}, {"outcome", "allowed"}}), "1");
  EXPECT_EQ(value("calls_total", {{"protocol", "resp"}, {"outcome", "invalid"}}), "0");
  EXPECT_EQ(value("requests_total",
                  {{"rule", "login"}, {"algorithm", "fixed_window"}, {"allowed", "false"}}),
            "1");
  EXPECT_EQ(value("requests_total",
                  {{"rule", "search \"\\\n"}, {"algorithm", "token_bucket"}, {"allowed", "true"}}),
            "3");
  EXPECT_EQ(
      value("shadow_denials_total", {{"rule", "search \"\\\n"}, {"algorithm", "token_bucket"}}),
      "1");
  EXPECT_EQ(value("check_seconds_count", {{"algorithm", "token_bucket"}, {"allowed", "true"}}),
            "2");
  EXPECT_EQ(value("check_seconds_sum", {{"algorithm", "token_bucket"}, {"allowed", "true"}}),
            "0.300003");
  EXPECT_EQ(value("storage_seconds_bucket", {{"le", "0.001"}}), "1");
  EXPECT_EQ(value("storage_errors_total", {{"error_type", "timeout"}}), "1");
  EXPECT_EQ(value("degraded_decisions_total", {{"mode", "open"}}), "1");
  EXPECT_EQ(value("list_hits_total", {{"list", "deny"}}), "1");
  EXPECT_EQ(value("connections", {{"protocol", "http"}}), "1");
  EXPECT_EQ(value("connections_accepted_total", {{"protocol", "http"}}), "2");
  EXPECT_EQ(
      value("connections_refused_total", {{"protocol", "http"}, {"reason", "max_per_address"}}),
      "1");
  EXPECT_EQ(value("bounds_exceeded_total", {{"protocol", "resp"}, {"bound", "output_buffer"}}),
            "1");
  EXPECT_EQ(value("protocol_errors_total", {{"protocol", "resp"}}), "1");
  EXPECT_EQ(value("http2_abuse_total", {{"reason", "pings"}}), "1");
}

TEST(MetricsPageTest, ItTellsWhatTheServerSaysOfItself) {
  const testing::Exposition page = testing::ParseExposition(Page());
  const auto value = [&](const std::string& name, std::map<std::string, std::string> labels) {
    return page.Value(name, labels);
  };
  EXPECT_EQ(value("rate_limiter_active_keys", {}), "12");
  EXPECT_EQ(value("rate_limiter_expired_keys_total", {}), "3");
  EXPECT_EQ(value("rate_limiter_refused_keys_total", {}), "1");
  EXPECT_EQ(value("rate_limiter_reloads_total", {{"result", "success"}}), "5");
  EXPECT_EQ(value("rate_limiter_reloads_total", {{"result", "failure"}}), "1");
  EXPECT_EQ(value("rate_limiter_rules_info", {{"version", "7"}, {"hash", "5f2c"}}), "1");
  EXPECT_EQ(
      value("rate_limiter_tls_handshakes_total", {{"protocol", "resp"}, {"result", "not_tls"}}),
      "4");
  EXPECT_EQ(value("rate_limiter_tls_broken_total", {{"protocol", "resp"}}), "2");
  EXPECT_EQ(value("rate_limiter_tls_certificate_expiry_timestamp_seconds", {{"protocol", "resp"}}),
            "1800000000");
  EXPECT_EQ(value("rate_limiter_tls_reloads_total", {{"protocol", "resp"}, {"result", "success"}}),
            "3");
  EXPECT_EQ(value("rate_limiter_tls_reloads_total", {{"protocol", "resp"}, {"result", "failure"}}),
            "1");
  EXPECT_EQ(value("rate_limiter_enforcement", {{"mode", "on"}}), "0");
  EXPECT_EQ(value("rate_limiter_enforcement", {{"mode", "shadow"}}), "1");
  EXPECT_EQ(value("rate_limiter_log_lines_total", {{"level", "warn"}}), "6");
  EXPECT_EQ(value("process_cpu_seconds_total", {}), "1.25");
  EXPECT_EQ(std::stod(value("process_start_time_seconds", {})), 1700000000.25);
}

TEST(MetricsPageTest, ConstantLabelsAreOnEverySeries) {
  const std::vector<std::pair<std::string, std::string>> labels{{"region", "eu"}};
  const testing::Exposition page = testing::ParseExposition(
      Page(MetricsFormat::kPrometheus, ConstantLabels::Create(labels).value()));
  EXPECT_THAT(page.problems, IsEmpty());
  for (const testing::ParsedFamily& family : page.families) {
    for (const testing::ParsedSample& sample : family.samples) {
      EXPECT_TRUE(sample.labels.contains("region")) << sample.name;
    }
  }
}

TEST(MetricsPageTest, NoLabelOfThePageCanBeAConstantOne) {
  std::set<std::string> names;
  for (const auto& family : testing::ParseExposition(Page()).families) {
    for (const testing::ParsedSample& sample : family.samples) {
      for (const auto& [name, value] : sample.labels) names.insert(name);
    }
  }
  EXPECT_THAT(names, SizeIs(Gt(10U)));
  for (const std::string& name : names) {
    const std::vector<std::pair<std::string, std::string>> labels{{name, "x"}};
    EXPECT_FALSE(ConstantLabels::Create(labels).ok()) << name;
  }
}

// There, families lose their endings, and two that differ in nothing else would become one.
TEST(MetricsPageTest, InOpenMetricsFamiliesStillHaveNamesOfTheirOwn) {
  static const std::regex kHelp("# HELP ([a-z_]+) ");
  const std::string page = Page(MetricsFormat::kOpenMetrics);
  std::set<std::string> seen;
  for (auto help = std::sregex_iterator(page.begin(), page.end(), kHelp);
       help != std::sregex_iterator(); ++help) {
    EXPECT_TRUE(seen.insert((*help)[1]).second) << (*help)[1];
  }
  EXPECT_THAT(page, EndsWith("\n# EOF\n"));
}

TEST(MetricsPageTest, AllRulesThereMayBeMakeABoundedPage) {
  RuleIds ids;
  LoopCounters counters(ids);
  for (int i = 0; i < 20'000; ++i) {
    counters.CountLimit(ids.Intern(std::to_string(i), Algorithm::kTokenBucket), Allowed::kYes);
  }
  MetricsSnapshot snapshot;
  const LoopCounters* const loops[] = {&counters};
  ReadLoops(ids, loops, snapshot);
  std::string out;
  AppendMetricsPage(snapshot, MetricsFormat::kPrometheus, {}, out);
  const testing::Exposition page = testing::ParseExposition(out);
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_THAT(page.Find("rate_limiter_requests_total")->samples, SizeIs(2 * 10'001));
  EXPECT_EQ(page.Value("rate_limiter_requests_total",
                       {{"rule", "_other"}, {"algorithm", "token_bucket"}, {"allowed", "true"}}),
            "10000");
}

TEST(MetricsDocumentsTest, EveryMetricIsExplainedWithItsTypeAndLabels) {
  // | `name` | type | `label`, `label` or – | meaning |
  static const std::regex kRow(R"(\| `([a-z0-9_]+)` \| (\w+) \| ([^|]+) \| [^|]+\|)");
  static const std::regex kLabel("`([a-z_]+)`");
  std::map<std::string, std::pair<std::string, std::set<std::string>>> documented;
  const std::string text = ReadSource("docs/metrics.md");
  for (auto row = std::sregex_iterator(text.begin(), text.end(), kRow);
       row != std::sregex_iterator(); ++row) {
    const std::string labels = (*row)[3];
    documented[(*row)[1]] = {
        (*row)[2], {std::sregex_token_iterator(labels.begin(), labels.end(), kLabel, 1), {}}};
  }
  std::map<std::string, std::pair<std::string, std::set<std::string>>> told;
  for (const auto& family : testing::ParseExposition(Page()).families) {
    auto& [type, labels] = told[family.name];
    type = family.type;
    for (const testing::ParsedSample& sample : family.samples) {
      for (const auto& [name, value] : sample.labels) {
        if (name != "le") labels.insert(name);
      }
    }
  }
  EXPECT_EQ(documented, told);
}

TEST(MetricsDocumentsTest, EveryValueOfALabelIsNamed) {
  const std::string text = ReadSource("docs/metrics.md");
  const auto expect_all = [&](const auto& names) {
    for (const std::string_view name : names) {
      EXPECT_NE(text.find('`' + std::string(name) + '`'), std::string::npos) << name;
    }
  };
  expect_all(kLabels<Protocol>);
  expect_all(kLabels<CallOutcome>);
  expect_all(kLabels<List>);
  expect_all(kLabels<FailureMode>);
  expect_all(kLabels<StoreError>);
  expect_all(kLabels<Refusal>);
  expect_all(kLabels<Bound>);
  expect_all(kLabels<Http2Abuse>);
  expect_all(kLabels<Enforcement>);
  expect_all(kLabels<Algorithm>);
}

TEST(MetricsDocumentsTest, DashboardAndAlertsUseOnlyMetricsThatExist) {
  const std::set<std::string> exist = SampleNames();
  for (const char* file : {"deploy/grafana/sluice.json", "deploy/prometheus/alerts.yml"}) {
    const std::set<std::string> used = MetricNamesIn(ReadSource(file));
    EXPECT_THAT(used, SizeIs(Gt(5U))) << file;
    EXPECT_THAT(exist, IsSupersetOf(used)) << file;
  }
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
