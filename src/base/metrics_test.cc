#include "base/metrics.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/labels.h"

namespace sluice {
namespace {

enum class Color : std::uint8_t { kRed, kBlue };
constexpr std::array<std::string_view, 2> LabelsOf(Color /*any*/) { return {"red", "blue"}; }

struct Numbers {
  Counter calls;
  Gauge level;
  EnumArray<Color, EnumArray<Color, Counter>> colors;
  Histogram times;

  [[nodiscard]] std::uint64_t twice() const { return 2 * calls; }
  void operator+=(const Numbers& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    return std::tuple{
        Metric{kCounter, "calls_total", "Calls.", &Numbers::calls},
        Metric{kGauge, "twice", "Twice the calls.", &Numbers::twice},
        Metric{kCounter, "colors_total", "Colors.", &Numbers::colors, "outer", "inner"},
        Metric{kHistogram, "seconds", "Durations.", &Numbers::times},
        Unlisted{&Numbers::level},
    };
  }
};
static_assert(HasAllMetrics<Numbers>);

struct WithoutRow {
  Counter listed;
  Counter forgotten;

  static constexpr auto Metrics() {
    return std::tuple{Metric{MetricType::kCounter, "listed_total", "", &WithoutRow::listed}};
  }
};
static_assert(!HasAllMetrics<WithoutRow>);

TEST(MetricsTest, ASumIncludesEveryNumberOnce) {
  Numbers one;
  one.calls.Add(3);
  one.level.Add(-2);
  one.colors[Color::kRed][Color::kBlue].Add();
  one.times.Record(std::chrono::microseconds(7));
  Numbers sum = one;
  sum += one;
  EXPECT_EQ(sum.calls, 6U);
  EXPECT_EQ(sum.level, -4);
  EXPECT_EQ(sum.colors[Color::kRed][Color::kBlue], 2U);
  EXPECT_EQ(sum.colors[Color::kBlue][Color::kRed], 0U);
  EXPECT_EQ(sum.times.count(), 2U);
  EXPECT_EQ(one.calls, 3U) << "a copy is on its own";
}

TEST(LabelsTest, AlgorithmsAreNamedAsEverywhereElse) {
  for (std::size_t i = 0; i < kLabels<Algorithm>.size(); ++i) {
    EXPECT_EQ(kLabels<Algorithm>[i], AlgorithmName(static_cast<Algorithm>(i)));
  }
}

}  // namespace
}  // namespace sluice
