// What the programs that read metrics say of ours. They need not be installed: promtool is in
// Debian's package `prometheus`, the parser for Python in `python3-prometheus-client`.

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "telemetry/testing/sample_page.h"

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

/// A page of metrics in a file, which is removed with it.
class PageFile {
 public:
  explicit PageFile(MetricsFormat format) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    // The process id keeps users apart who test on one machine.
    path_ = ::testing::TempDir() + "sluice_" + test->name() + "_" + std::to_string(getpid());
    std::ofstream(path_) << testing::SamplePage(format);
  }
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;
  ~PageFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class PromtoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Shell("promtool --version").status != 0) GTEST_SKIP() << "promtool is not installed";
  }
};

class PythonParserTest : public ::testing::Test {
 protected:
  // The parser is a package of Debian's own Python, which need not be the first in the path.
  void SetUp() override {
    for (const char* candidate : {"python3", "/usr/bin/python3"}) {
      if (Shell(std::string(candidate) + " -c 'import prometheus_client'").status != 0) continue;
      python_ = candidate;
      return;
    }
    GTEST_SKIP() << "prometheus_client for Python is not installed";
  }
  // Succeeds if it finds the sample whose rule's name is all quotes and line breaks.
  [[nodiscard]] Answer Parse(const std::string& module, const std::string& file) const {
    return Shell(python_ + " -c '\nfrom prometheus_client" + module +
                 " import text_string_to_metric_families as parse\n"
                 "found = [s for f in parse(open(\"" +
                 file +
                 "\").read()) for s in f.samples]\n"
                 "rules = {s.labels.get(\"rule\") for s in found}\n"
                 "assert \"search \\\"\\\\\\n\" in rules, rules\n"
                 "assert len(found) > 100, len(found)'");
  }

 private:
  std::string python_;
};

TEST_F(PromtoolTest, ThePageHasNothingToComplainAbout) {
  const PageFile file(MetricsFormat::kPrometheus);
  const Answer answer = Shell("promtool check metrics < '" + file.path() + "'");
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
  const Answer answer = Parse(".parser", PageFile(MetricsFormat::kPrometheus).path());
  EXPECT_EQ(answer.status, 0) << answer.output;
}

TEST_F(PythonParserTest, ReadsOpenMetrics) {
  const Answer answer = Parse(".openmetrics.parser", PageFile(MetricsFormat::kOpenMetrics).path());
  EXPECT_EQ(answer.status, 0) << answer.output;
}

}  // namespace
}  // namespace sluice::telemetry
