#include "statsd/statsd_lines.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace sluice::statsd {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string Joined(const StatsdLines& lines) {
  std::string text;
  for (const std::string& datagram : lines.datagrams()) text += datagram + "\n";
  return text;
}

std::string Export(Format format, LastValues& last, std::uint64_t calls, std::int64_t gauge,
                   const Labels& constant = {}) {
  StatsdLines lines(format, "", constant, last);
  lines.Family("calls_total", MetricType::kCounter, "Calls.");
  lines.Sample({{"protocol", "http"}, {"outcome", "denied"}}, calls);
  lines.Family("offset", MetricType::kGauge, "Offset.");
  lines.Sample({}, gauge);
  lines.End();
  return Joined(lines);
}

TEST(StatsdLinesTest, LabelsAreTagsOrPartsOfNames) {
  LastValues first;
  EXPECT_EQ(Export(Format::kDogstatsd, first, 3, 5, {{"zone", "b"}}),
            "calls_total:3|c|#zone:b,protocol:http,outcome:denied\noffset:5|g|#"
            "zone:b\n");
  LastValues second;
  EXPECT_EQ(Export(Format::kStatsd, second, 3, 5), "calls_total.http.denied:3|c\noffset:5|g\n");
}

TEST(StatsdLinesTest, CountersAreDifferencesAndLeftOutWhileNothingHappens) {
  LastValues last;
  EXPECT_EQ(Export(Format::kStatsd, last, 3, 0), "calls_total.http.denied:3|c\noffset:0|g\n");
  EXPECT_EQ(Export(Format::kStatsd, last, 3, 0), "offset:0|g\n");
  EXPECT_EQ(Export(Format::kStatsd, last, 10, 0), "calls_total.http.denied:7|c\noffset:0|g\n");
}

TEST(StatsdLinesTest, ANegativeGaugeIsSetFromZero) {
  LastValues last;
  EXPECT_EQ(Export(Format::kStatsd, last, 0, -4), "offset:0|g\noffset:-4|g\n");
}

TEST(StatsdLinesTest, AHistogramIsItsCountAndItsSum) {
  LastValues last;
  Histogram times;
  times.Record(std::chrono::microseconds(1500));
  times.Record(std::chrono::microseconds(500));
  StatsdLines lines(Format::kStatsd, "sluice.", {}, last);
  lines.Family("check_seconds", MetricType::kHistogram, "Times.");
  lines.Sample({}, times);
  lines.End();
  EXPECT_EQ(Joined(lines), "sluice.check_seconds_count:2|c\nsluice.check_seconds_sum:0.002|c\n");
}

TEST(StatsdLinesTest, ValuesOfLabelsCannotEndALineOrATag) {
  LastValues last;
  for (const Format format : {Format::kStatsd, Format::kDogstatsd}) {
    StatsdLines lines(format, "", {}, last);
    lines.Family("x", MetricType::kGauge, "X.");
    lines.Sample({{"rule", "a:1|c\nevil:9|g|#b,c@0.1"}}, std::uint64_t{1});
    lines.End();
    EXPECT_EQ(Joined(lines), format == Format::kStatsd ? "x.a_1_c_evil_9_g__b_c_0_1:1|g\n"
                                                       : "x:1|g|#rule:a_1_c_evil_9_g__b_c_0.1\n");
  }
}

TEST(StatsdLinesTest, ADatagramFitsIntoAPacket) {
  LastValues last;
  StatsdLines lines(Format::kDogstatsd, "", {}, last);
  lines.Family("rules", MetricType::kGauge, "Rules.");
  for (int i = 0; i < 500; ++i) {
    const std::string rule(i, 'r');
    lines.Sample({{"rule", rule}}, std::uint64_t{1});
  }
  lines.End();
  ASSERT_GT(lines.datagrams().size(), 10U);
  for (const std::string& datagram : lines.datagrams()) {
    EXPECT_LE(datagram.size(), StatsdLines::kMaxBytes);
    EXPECT_FALSE(datagram.ends_with('\n'));
  }
}

}  // namespace
}  // namespace sluice::statsd
