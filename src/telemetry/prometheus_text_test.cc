#include "telemetry/prometheus_text.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/testing/exposition.h"

namespace sluice::telemetry {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename Value>
std::string Write(std::initializer_list<Label> labels, Value value,
                  const ConstantLabels& constant = {}) {
  std::string out;
  PrometheusText text(out, MetricsFormat::kPrometheus, constant);
  text.Family("m", MetricType::kGauge, "Help.");
  text.Sample(labels, value);
  text.End();
  return out;
}

template <typename Value>
std::string Number(Value value) {
  return testing::ParseExposition(Write({}, value)).Value("m", {});
}

ConstantLabels Constant(const std::vector<std::pair<std::string, std::string>>& labels) {
  return ConstantLabels::Create(labels).value();
}

std::string Refusal(const std::vector<std::pair<std::string, std::string>>& labels) {
  const auto result = ConstantLabels::Create(labels);
  return result.ok() ? "accepted" : result.error().message;
}

TEST(PrometheusTextTest, AFamilyIsExplainedBeforeItsSamples) {
  EXPECT_EQ(Write({{"a", "b"}, {"c", "d"}}, std::uint64_t{1}),
            "# HELP m Help.\n# TYPE m gauge\nm{a=\"b\",c=\"d\"} 1\n");
}

TEST(PrometheusTextTest, WithoutLabelsThereAreNoBraces) {
  EXPECT_THAT(Write({}, std::uint64_t{1}), EndsWith("\nm 1\n"));
}

TEST(PrometheusTextTest, IntegersAreExact) {
  EXPECT_EQ(Number(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(Number(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(PrometheusTextTest, FractionsHaveTheDigitsTheyNeed) {
  EXPECT_EQ(Number(0.1), "0.1");
  EXPECT_EQ(std::stod(Number(1700000000.25)), 1700000000.25);
  EXPECT_EQ(Number(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(Number(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(Number(std::nan("")), "NaN");
  EXPECT_EQ(std::strtod(Number(std::numeric_limits<double>::denorm_min()).c_str(), nullptr),
            std::numeric_limits<double>::denorm_min());
}

TEST(PrometheusTextTest, SecondsKeepTheirNanoseconds) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(Number(nanoseconds(0)), "0");
  EXPECT_EQ(Number(nanoseconds(1)), "0.000000001");
  EXPECT_EQ(Number(nanoseconds(1'500'000)), "0.0015");
  EXPECT_EQ(Number(nanoseconds(9'007'199'254'740'993'001)), "9007199254.740993001");
  EXPECT_EQ(Number(nanoseconds(2'000'000'000)), "2");
}

TEST(PrometheusTextTest, AnyBytesMayBeALabelsValue) {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  all += "é€😀";
  const testing::Exposition page = testing::ParseExposition(Write({{"a", all}}, std::int64_t{-5}));
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_EQ(page.Value("m", {{"a", all}}), "-5");
}

TEST(PrometheusTextTest, WhatIsNotUtf8IsReplaced) {
  EXPECT_THAT(Write({{"a", "x\xC3(\xED\xA0\x80"}}, std::uint64_t{1}),
              HasSubstr("\"x\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""));
}

TEST(PrometheusTextTest, BucketsAreSummedUpAndEndWithInfinity) {
  Histogram histogram;
  histogram.Record(std::chrono::microseconds(1));
  histogram.Record(std::chrono::microseconds(150));
  histogram.Record(std::chrono::seconds(1));
  std::string out;
  PrometheusText text(out, MetricsFormat::kPrometheus, {});
  text.Family("m", MetricType::kHistogram, "Help.");
  text.Sample({{"a", "b"}}, histogram);
  const testing::Exposition page = testing::ParseExposition(out);
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_EQ(page.Value("m_bucket", {{"a", "b"}, {"le", "1e-06"}}), "1");
  EXPECT_EQ(page.Value("m_bucket", {{"a", "b"}, {"le", "0.0001"}}), "1");
  EXPECT_EQ(page.Value("m_bucket", {{"a", "b"}, {"le", "0.0002"}}), "2");
  EXPECT_EQ(page.Value("m_bucket", {{"a", "b"}, {"le", "0.1"}}), "2");
  EXPECT_EQ(page.Value("m_bucket", {{"a", "b"}, {"le", "+Inf"}}), "3");
  EXPECT_EQ(page.Value("m_count", {{"a", "b"}}), "3");
  EXPECT_EQ(page.Value("m_sum", {{"a", "b"}}), "1.000151");
}

TEST(PrometheusTextTest, OpenMetricsNamesFamiliesWithoutTheirEndings) {
  std::string out;
  PrometheusText text(out, MetricsFormat::kOpenMetrics, {});
  text.Family("c_total", MetricType::kCounter, "A \"count\".");
  text.Sample({}, std::uint64_t{1});
  text.Family("b_info", MetricType::kInfo, "B.");
  text.Sample({{"v", "1"}}, std::uint64_t{1});
  text.End();
  EXPECT_EQ(out,
            "# HELP c A \\\"count\\\".\n# TYPE c counter\nc_total 1\n"
            "# HELP b B.\n# TYPE b info\nb_info{v=\"1\"} 1\n# EOF\n");
}

TEST(ConstantLabelsTest, EverySeriesCarriesThem) {
  const ConstantLabels constant = Constant({{"region", "eu\"\n"}, {"zone", "b"}});
  EXPECT_THAT(Write({{"a", "b"}}, std::uint64_t{1}, constant),
              EndsWith("\nm{region=\"eu\\\"\\n\",zone=\"b\",a=\"b\"} 1\n"));
  EXPECT_THAT(Write({}, std::uint64_t{1}, constant),
              EndsWith("\nm{region=\"eu\\\"\\n\",zone=\"b\"} 1\n"));
}

TEST(ConstantLabelsTest, WhatPrometheusWouldNotReadIsRefusedByName) {
  EXPECT_THAT(Refusal({{"", "x"}}), HasSubstr("letters, digits and '_' only"));
  EXPECT_THAT(Refusal({{"a-b", "x"}}), HasSubstr("label \"a-b\": a name has letters"));
  EXPECT_THAT(Refusal({{"1a", "x"}}), HasSubstr("no digit first"));
  EXPECT_THAT(Refusal({{"__name__", "x"}}), HasSubstr("Prometheus'"));
  EXPECT_THAT(Refusal({{"rule", "x"}}), HasSubstr("choose another one"));
  EXPECT_THAT(Refusal({{"le", "x"}}), HasSubstr("choose another one"));
  EXPECT_THAT(Refusal({{"a", "x"}, {"a", "y"}}), HasSubstr("twice"));
  EXPECT_THAT(Refusal({{"a", "\xFF"}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(Refusal({{"a", std::string(257, 'x')}}), HasSubstr("at most 256 bytes"));
  EXPECT_THAT(Refusal({{std::string(257, 'x'), "a"}}), HasSubstr("at most 256 bytes"));
  EXPECT_THAT(Refusal(std::vector<std::pair<std::string, std::string>>(17, {"a", "b"})),
              HasSubstr("at most 16"));
  EXPECT_EQ(Refusal({{"_a", std::string(256, 'x')}}), "accepted");
}

// The judge of the other tests has to be able to say no.
TEST(ExpositionTest, WhatIsWrongIsSeen) {
  const std::string head = "# HELP m h\n# TYPE m gauge\n";
  const auto problems = [](const std::string& page) {
    return testing::ParseExposition(page).problems;
  };
  EXPECT_THAT(problems(head + "m 1\n"), IsEmpty());
  for (const std::string& wrong :
       {head + "m 1", head + "m\n", head + "m x\n", head + "m{} 1\n", head + "m{a=\"1} 1\n",
        head + "m{a=\"\\t\"} 1\n", head + "m{a=\"1\",a=\"2\"} 1\n", head + "n 1\n",
        head + "m 1\nm 2\n", head + "m{a=\"1\"} 1\nm{a=\"1\"} 2\n", head + head + "m 1\n",
        std::string("# HELP m h\nm 1\n"), std::string("# TYPE m gauge\nm 1\n")}) {
    EXPECT_THAT(problems(wrong), Not(IsEmpty())) << wrong;
  }
  const std::string histogram = "# HELP h h\n# TYPE h histogram\n";
  for (const std::string& wrong :
       {histogram + "h 1\n", histogram + "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n",
        histogram + "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_count 1\n",
        histogram + "h_bucket{le=\"+Inf\"} 1\nh_count 2\n"}) {
    EXPECT_THAT(problems(wrong), Not(IsEmpty())) << wrong;
  }
}

}  // namespace
}  // namespace sluice::telemetry
