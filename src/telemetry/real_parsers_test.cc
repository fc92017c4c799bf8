// What the programs that read metrics say of ours. They need not be installed: promtool is in
// Debian's package `prometheus`, the parser for Python in `python3-prometheus-client`.

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "telemetry/metrics_page.h"
#include "telemetry/testing/sample_snapshot.h"

namespace sluice::telemetry {
namespace {

struct Answer {
  int status = -1;
  std::string output;
};

Answer Shell(const std::string& command) {
  Answer answer;
  // The commands are this file's own.
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");  // NOLINT(bugprone-command-processor)
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    answer.output.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

std::string PageFile(MetricsFormat format) {
  std::string page;
  AppendMetricsPage(testing::SampleSnapshot(), format, {}, page);
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = ::testing::TempDir() + "sluice_" + test->name() + ".txt";
  std::ofstream(name) << page;
  return name;
}

class PromtoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Shell("promtool --version").status != 0) GTEST_SKIP() << "promtool is not installed";
  }
};

class PythonParserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Shell("python3 -c 'import prometheus_client'").status != 0) {
      GTEST_SKIP() << "prometheus_client for Python is not installed";
    }
  }
  // Succeeds if it finds the sample whose rule's name is all quotes and line breaks.
  static Answer Parse(const std::string& module, const std::string& file) {
    return Shell("python3 -c '\nfrom prometheus_client" + module +
                 " import text_string_to_metric_families as parse\n"
                 "found = [s for f in parse(open(\"" +
                 file +
                 "\").read()) for s in f.samples]\n"
                 "rules = {s.labels.get(\"rule\") for s in found}\n"
                 "assert \"search \\\"\\\\\\n\" in rules, rules\n"
                 "assert len(found) > 200, len(found)'");
  }
};

TEST_F(PromtoolTest, ThePageHasNothingToComplainAbout) {
  const std::string file = PageFile(MetricsFormat::kPrometheus);
  const Answer answer = Shell("promtool check metrics < '" + file + "'");
  EXPECT_EQ(answer.status, 0) << answer.output;
  EXPECT_EQ(answer.output, "");
}

TEST_F(PromtoolTest, TheAlertsAreRules) {
  const Answer answer =
      Shell("promtool check rules " SLUICE_SOURCE_DIR "/deploy/prometheus/alerts.yml");
  EXPECT_EQ(answer.status, 0) << answer.output;
}

TEST_F(PromtoolTest, TheAlertsFireWhenTheyShould) {
  const Answer answer =
      Shell("promtool test rules " SLUICE_SOURCE_DIR "/deploy/prometheus/alerts_test.yml");
  EXPECT_EQ(answer.status, 0) << answer.output;
}

TEST_F(PythonParserTest, ReadsTheTextFormat) {
  const Answer answer = Parse(".parser", PageFile(MetricsFormat::kPrometheus));
  EXPECT_EQ(answer.status, 0) << answer.output;
}

TEST_F(PythonParserTest, ReadsOpenMetrics) {
  const Answer answer = Parse(".openmetrics.parser", PageFile(MetricsFormat::kOpenMetrics));
  EXPECT_EQ(answer.status, 0) << answer.output;
}

}  // namespace
}  // namespace sluice::telemetry
