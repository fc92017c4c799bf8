// What counting costs on a call's way, beside counters that several threads may write, and what a
// page costs. Medians of several runs, interleaved.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "telemetry/log.h"
#include "telemetry/metrics_page.h"

namespace sluice::telemetry {
namespace {

constexpr int kRuns = 9;
constexpr std::uint32_t kRules = 64;
constexpr std::size_t kCalls = 4'000'000;

// Of this thread: others on the machine don't count.
double Nanos() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// What a call met: one in eight is denied, and the rules come in no order.
struct Met {
  RuleSeries series;
  Allowed allowed;
};

std::vector<Met> Traffic(RuleIds& ids) {
  std::vector<Met> traffic;
  std::uint64_t random = 1;
  for (int i = 0; i < 4096; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const auto rule = "rule" + std::to_string((random >> 33) % kRules);
    traffic.push_back({ids.Intern(rule, Algorithm::kTokenBucket),
                       (random >> 50) % 8 == 0 ? Allowed::kNo : Allowed::kYes});
  }
  return traffic;
}

/// A decision over one limit, as a loop counts it.
double PerDecision(LoopCounters& counters, const std::vector<Met>& traffic) {
  const double begin = Nanos();
  for (std::size_t i = 0; i < kCalls; ++i) {
    const Met& met = traffic[i % 4096];
    counters.CountLimit(met.series, met.allowed);
    counters.CountCall(Protocol::kResp,
                       met.allowed == Allowed::kYes ? CallOutcome::kAllowed : CallOutcome::kDenied);
    if (counters.SampleThis()) {
      counters.RecordCheck(Algorithm::kTokenBucket, met.allowed,
                           std::chrono::nanoseconds(i % 5000));
    }
  }
  return (Nanos() - begin) / kCalls;
}

/// The same two counts with an atomic addition each, by this thread alone.
double PerDecisionShared(std::vector<std::atomic<std::uint64_t>>& cells,
                         const std::vector<Met>& traffic) {
  const double begin = Nanos();
  for (std::size_t i = 0; i < kCalls; ++i) {
    const Met& met = traffic[i % 4096];
    const auto allowed = static_cast<std::size_t>(met.allowed);
    cells[met.series.index * 2 + allowed].fetch_add(1, std::memory_order_relaxed);
    cells[allowed].fetch_add(1, std::memory_order_relaxed);
  }
  return (Nanos() - begin) / kCalls;
}

double PerSampledTime(Histogram& histogram) {
  const double begin = Nanos();
  for (std::size_t i = 0; i < kCalls; ++i) {
    histogram.Record(std::chrono::nanoseconds((i * 7919) % 200'000));
  }
  return (Nanos() - begin) / kCalls;
}

double PerPage(const RuleIds& ids, const LoopCounters& counters) {
  const double begin = Nanos();
  const std::array<const LoopCounters*, 2> loops{&counters, &counters};
  MetricsSnapshot snapshot;
  ReadLoops(ids, loops, snapshot);
  std::string page;
  AppendMetricsPage(snapshot, MetricsFormat::kPrometheus, {}, page);
  return Nanos() - begin;
}

double PerLogLine(Log& log) {
  constexpr int kLines = 20'000;
  const double begin = Nanos();
  for (int i = 0; i < kLines; ++i) {
    log.Write(LogLevel::kInfo, "rules loaded",
              {{"version", "17"}, {"rules", i}, {"api_key", HashedKey{"demo-key"}}});
  }
  return (Nanos() - begin) / kLines;
}

double PerUnwantedLine(Log& log) {
  const double begin = Nanos();
  for (std::size_t i = 0; i < kCalls; ++i) {
    log.Write(LogLevel::kDebug, "call", {{"i", i}});
  }
  return (Nanos() - begin) / kCalls;
}

struct Measured {
  const char* name;
  const char* what;
  std::function<double()> run;
  std::vector<double> nanos{};
};

}  // namespace
}  // namespace sluice::telemetry

int main(int argc, char** argv) {
  using namespace sluice::telemetry;  // NOLINT(google-build-using-namespace)
  const std::string json = argc == 3 && std::string_view(argv[1]) == "--json" ? argv[2] : "";
  if (argc != 1 && json.empty()) {
    std::fprintf(stderr, "usage: bench_telemetry [--json FILE]\n");
    return 2;
  }

  RuleIds ids;
  const std::vector<Met> traffic = Traffic(ids);
  LoopCounters counters(ids);
  std::vector<std::atomic<std::uint64_t>> shared(2 * ids.capacity());
  Histogram histogram;
  RuleIds many_ids;
  for (int i = 0; i < 10'000; ++i) {
    many_ids.Intern("a-rule-with-a-name-" + std::to_string(i), sluice::Algorithm::kTokenBucket);
  }
  const LoopCounters many(many_ids);
  const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  Log log({.format = LogFormat::kJson, .fd = fd});

  std::vector<Measured> all{
      {"decision", "a decision with one limit", [&] { return PerDecision(counters, traffic); }},
      {"decision_shared", "the same with atomic additions",
       [&] { return PerDecisionShared(shared, traffic); }},
      {"histogram", "a time recorded", [&] { return PerSampledTime(histogram); }},
      {"page", "a page, 64 rules", [&] { return PerPage(ids, counters); }},
      {"page_10000", "a page, 10 000 rules", [&] { return PerPage(many_ids, many); }},
      {"log_line", "a JSON log line to /dev/null", [&] { return PerLogLine(log); }},
      {"unwanted_line", "a log line below the level", [&] { return PerUnwantedLine(log); }},
  };
  for (int run = 0; run < kRuns; ++run) {
    for (Measured& one : all) one.nanos.push_back(one.run());
  }
  std::string out;
  for (Measured& one : all) {
    std::sort(one.nanos.begin(), one.nanos.end());
    const double median = one.nanos[one.nanos.size() / 2];
    std::printf("%-32s %14.2f ns\n", one.what, median);
    out +=
        (out.empty() ? "{\"" : ", \"") + std::string(one.name) + "_ns\": " + std::to_string(median);
  }
  if (!json.empty()) std::ofstream(json) << out << "}\n";
  close(fd);
  return 0;
}
