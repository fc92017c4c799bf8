#include "telemetry/testing/sample_page.h"

#include <chrono>
#include <cstdint>

#include "telemetry/metrics_page.h"
#include "telemetry/series.h"

namespace sluice::telemetry::testing {
namespace {

enum class Outcome : std::uint8_t { kNone, kGood, kBad };
constexpr std::array<std::string_view, 3> LabelsOf(Outcome /*any*/) { return {"", "good", "bad"}; }

struct Numbers {
  Counter plain;
  Gauge level;
  EnumArray<Outcome, Counter> outcomes;
  EnumArray<Algorithm, EnumArray<Outcome, Histogram>> times;
  Counter hits;
  Counter misses;
  Counter unlisted;
  std::chrono::nanoseconds cpu{0};
  std::chrono::sys_seconds loaded_at{};
  double ratio = 0;

  [[nodiscard]] bool ready() const { return true; }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = Numbers;
    return std::tuple{
        Metric{kCounter, "sample_plain_total", "A number.", &S::plain},
        Metric{kGauge, "sample_level", "A number that falls.", &S::level},
        Metric{kGauge, "sample_ready", "A function.", &S::ready},
        Metric{kCounter, "sample_outcomes_total", "One label.", &S::outcomes, "outcome"},
        Metric{kHistogram, "sample_seconds", "Two labels.", &S::times, "algorithm", "outcome"},
        Metric{kCounter, "sample_answers_total", "Two rows.", &S::hits, "hit", "true"},
        Metric{kCounter, "sample_answers_total", "Two rows.", &S::misses, "hit", "false"},
        Unlisted{&S::unlisted},
        Metric{kCounter, "sample_cpu_seconds_total", "A duration.", &S::cpu},
        Metric{kGauge, "sample_loaded_timestamp_seconds", "A time.", &S::loaded_at},
        Metric{kGauge, "sample_ratio", "A fraction.", &S::ratio}};
  }
};

struct RuleNumbers {
  Counter calls;

  void operator+=(const RuleNumbers& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    return std::tuple{Metric{MetricType::kCounter, "sample_rule_calls_total", "Calls of a rule.",
                             &RuleNumbers::calls}};
  }
};

}  // namespace

std::string SamplePage(MetricsFormat format, const ConstantLabels& constant) {
  Numbers numbers;
  numbers.plain.Add(3);
  numbers.level.Add(-2);
  numbers.outcomes[Outcome::kGood].Add(4);
  numbers.times[Algorithm::kTokenBucket][Outcome::kBad].Record(std::chrono::microseconds(300));
  numbers.hits.Add(5);
  numbers.misses.Add(6);
  numbers.cpu = std::chrono::milliseconds(1250);
  numbers.loaded_at = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000));
  numbers.ratio = 0.25;
  SeriesIds ids({"rule"}, {});
  SeriesCounters<RuleNumbers> counters(ids);
  counters[ids.Intern({"search \"\\\n"})].calls.Add(2);
  counters[ids.Intern({"login"})].calls.Add(1);
  SeriesTotals<RuleNumbers> totals(ids);
  totals.Add(counters);
  totals.Add(counters);

  std::string page;
  PrometheusText text(page, format, constant);
  WriteMetrics(text, numbers);
  WriteMetrics(text, totals.Read());
  text.Family("sample_build_info", MetricType::kInfo, "The build.");
  text.Sample({{"version", "1"}}, std::uint64_t{1});
  text.End();
  return page;
}

}  // namespace sluice::telemetry::testing
