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
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "api/call_counters.h"
#include "api/call_record.h"
#include "api/denial_id.h"
#include "base/key_hash.h"
#include "limiter/decision_counters.h"
#include "telemetry/log.h"
#include "telemetry/loop_insight.h"
#include "telemetry/metrics_page.h"
#include "telemetry/prometheus_text.h"
#include "telemetry/series.h"

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

using limiter::Allowed;

SeriesIds Limits() { return {{"rule", "limit", "algorithm"}, {{"_other", "_other", "any"}}}; }

/// The counters of a loop that a decision needs.
struct Counters {
  explicit Counters(const SeriesIds& ids) : limits(ids) {}

  api::CallCounters calls;
  limiter::DecisionCounters decisions;
  SeriesCounters<limiter::LimitCounters> limits;
  std::uint32_t until_sample = 61;
};

// A limit that a call matched: one in eight is denied, and the rules come in no order.
struct Matched {
  Series series;
  Allowed allowed;
};

std::vector<Matched> Traffic(SeriesIds& ids) {
  std::vector<Matched> traffic;
  std::uint64_t random = 1;
  for (int i = 0; i < 4096; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const auto rule = "rule" + std::to_string((random >> 33) % kRules);
    traffic.push_back({ids.Intern({rule, "requests", "token_bucket"}),
                       (random >> 50) % 8 == 0 ? Allowed::kNo : Allowed::kYes});
  }
  return traffic;
}

/// A decision over one limit, as a loop counts it.
double PerDecision(Counters& counters, const std::vector<Matched>& traffic) {
  const double begin = Nanos();
  for (std::size_t i = 0; i < kCalls; ++i) {
    const Matched& matched = traffic[i % 4096];
    const bool allowed = matched.allowed == Allowed::kYes;
    limiter::LimitCounters& limit = counters.limits[matched.series];
    (allowed ? limit.allowed : limit.denied).Add();
    counters.calls
        .calls[api::Protocol::kResp]
              [allowed ? api::CallOutcome::kAllowed : api::CallOutcome::kDenied]
        .Add();
    if (--counters.until_sample == 0) {
      counters.until_sample = 61;
      counters.decisions.check_times[Algorithm::kTokenBucket][matched.allowed].Record(
          std::chrono::nanoseconds(i % 5000));
    }
  }
  return (Nanos() - begin) / kCalls;
}

/// The same two counts with an atomic addition each, by this thread alone.
double PerDecisionShared(std::vector<std::atomic<std::uint64_t>>& cells,
                         const std::vector<Matched>& traffic) {
  const double begin = Nanos();
  for (std::size_t i = 0; i < kCalls; ++i) {
    const Matched& matched = traffic[i % 4096];
    const auto allowed = static_cast<std::size_t>(matched.allowed);
    cells[matched.series.index * 2 + allowed].fetch_add(1, std::memory_order_relaxed);
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

double PerPage(const SeriesIds& ids, const Counters& counters) {
  const double begin = Nanos();
  api::CallCounters calls;
  limiter::DecisionCounters decisions;
  SeriesTotals<limiter::LimitCounters> limits(ids);
  for (int loop = 0; loop < 2; ++loop) {
    calls += counters.calls;
    decisions += counters.decisions;
    limits.Add(counters.limits);
  }
  std::string page;
  PrometheusText text(page, MetricsFormat::kPrometheus, {});
  WriteMetrics(text, calls);
  WriteMetrics(text, decisions);
  WriteMetrics(text, limits.Read());
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

// Consumers of allowed calls, at so many calls a second: a second's counts are taken away after it.
double PerConsumer(LoopInsight& insight, std::size_t per_second, std::size_t keys) {
  std::vector<std::string> names;
  std::uint64_t random = 7;
  for (int i = 0; i < 65536; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    // The smaller of two: some are more frequent.
    const std::uint64_t key = std::min((random >> 33) % keys, (random >> 13) % keys);
    names.push_back("sk_prod_customer_" + std::to_string(key));
  }
  auto spare = std::make_unique<ConsumerSketches>();
  double nanos = 0;
  for (std::size_t done = 0; done < kCalls; done += per_second) {
    const double begin = Nanos();
    for (std::size_t i = 0; i < per_second; ++i) {
      const std::uint32_t weight = insight.SampleAllowed();
      if (weight == 0) continue;
      insight.CountAllowed({.rule = "search", .tag = names[(done + i) % names.size()]}, weight);
    }
    nanos += Nanos() - begin;
    spare = insight.Exchange(std::move(spare));
    spare->Clear();
  }
  return nanos / kCalls;
}

DecisionRecord Denial(std::span<const Attribute> attributes) {
  return {.time = WallTime{std::chrono::seconds(1'700'000'000)},
          .is_secret = true,
          .rules = 7,
          .cap = 100,
          .cost = 1,
          .wait = std::chrono::milliseconds(250),
          .rule = "search",
          .limit = "100 per minute",
          .tag = "sk_prod_customer_17",
          .attributes = attributes};
}

constexpr std::array<Attribute, 3> kAttributes{
    {{"api_key", "sk_prod_customer_17"}, {"endpoint", "/v1/search"}, {"ip", "192.0.2.17"}}};

double PerRecord(DecisionBuffer& buffer) {
  const double begin = Nanos();
  for (std::size_t i = 0; i < kCalls; ++i) {
    if (!buffer.Append(Denial(kAttributes))) buffer.Clear();
  }
  return (Nanos() - begin) / kCalls;
}

double PerFullRecord(DecisionBuffer& buffer) {
  while (buffer.Append(Denial(kAttributes))) {
  }
  const double begin = Nanos();
  for (std::size_t i = 0; i < kCalls; ++i) buffer.Append(Denial(kAttributes));
  return (Nanos() - begin) / kCalls;
}

double PerDenialId(const api::DenialIds& denial_ids) {
  constexpr int kIds = 400'000;
  std::string text;
  const double begin = Nanos();
  for (int i = 0; i < kIds; ++i) {
    text.clear();
    denial_ids.Append(api::FactsOf(Denial(kAttributes), 17), text);
  }
  return (Nanos() - begin) / kIds;
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

  SeriesIds ids = Limits();
  const std::vector<Matched> traffic = Traffic(ids);
  Counters counters(ids);
  std::vector<std::atomic<std::uint64_t>> shared(2 * ids.capacity());
  sluice::Histogram histogram;
  SeriesIds many_ids = Limits();
  for (int i = 0; i < 10'000; ++i) {
    many_ids.Intern({"a-rule-with-a-name-" + std::to_string(i), "requests", "token_bucket"});
  }
  const Counters many(many_ids);
  const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  Log log({.format = LogFormat::kJson, .fd = fd});

  const sluice::KeyHasher hasher;
  LoopInsight insight(hasher, {}, 1);
  DecisionBuffer records(512 << 10);
  const sluice::api::DenialIds denial_ids("secret");

  std::vector<Measured> all{
      {"decision", "a decision with one limit", [&] { return PerDecision(counters, traffic); }},
      {"decision_shared", "the same with atomic additions",
       [&] { return PerDecisionShared(shared, traffic); }},
      {"histogram", "a time recorded", [&] { return PerSampledTime(histogram); }},
      {"page", "a page, 64 rules", [&] { return PerPage(ids, counters); }},
      {"page_10000", "a page, 10 000 rules", [&] { return PerPage(many_ids, many); }},
      {"log_line", "a JSON log line to /dev/null", [&] { return PerLogLine(log); }},
      {"consumer", "a consumer counted, 400 000/s",
       [&] { return PerConsumer(insight, 400'000, 1000); }},
      {"consumer_100k", "100 000/s", [&] { return PerConsumer(insight, 100'000, 1000); }},
      {"consumer_flood", "400 000/s, all different",
       [&] { return PerConsumer(insight, 400'000, 1'000'000'000); }},
      {"record", "a denial recorded", [&] { return PerRecord(records); }},
      {"record_full", "a denial without room", [&] { return PerFullRecord(records); }},
      {"denial_id", "the id of a denial", [&] { return PerDenialId(denial_ids); }},
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
