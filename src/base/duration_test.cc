#include "base/duration.h"

#include <chrono>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include <sluice/limit.h>

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::optional<Micros> Duration(std::string_view text) { return ParseDuration(text, seconds(1)); }

TEST(DurationTest, DurationsHaveUnitsOrArePlain) {
  EXPECT_EQ(Duration("60"), seconds(60));
  EXPECT_EQ(Duration("0.5"), milliseconds(500));
  EXPECT_EQ(Duration("60s"), seconds(60));
  EXPECT_EQ(Duration("5m"), minutes(5));
  EXPECT_EQ(Duration("1h"), hours(1));
  EXPECT_EQ(Duration("1d"), hours(24));
  EXPECT_EQ(Duration("1w"), hours(168));
  EXPECT_EQ(Duration("250 ms"), milliseconds(250));
  EXPECT_EQ(Duration("7us"), Micros(7));
  EXPECT_EQ(Duration("7µs"), Micros(7));
  EXPECT_EQ(Duration("1h30m"), minutes(90));
  EXPECT_EQ(Duration("2 Hours"), hours(2));
  EXPECT_EQ(Duration("minute"), minutes(1));
  EXPECT_EQ(ParseDuration("1500", milliseconds(1)), milliseconds(1500));
}

TEST(DurationTest, WithoutADefaultUnitANumberNeedsOne) {
  EXPECT_EQ(ParseDuration("60"), std::nullopt);
  EXPECT_EQ(ParseDuration("0"), std::nullopt);
  EXPECT_EQ(ParseDuration("0s"), Micros{0});
}

TEST(DurationTest, InvalidDurationsAreRejected) {
  for (const char* text :
       {"", " ", "soon", "5 parsecs", "5m5", "m5", "1h-30m", "-5s", "0.0000001", "month"}) {
    EXPECT_EQ(Duration(text), std::nullopt) << text;
  }
}

TEST(DurationTest, ATooLongDurationIsClampedAboveTheMaximum) {
  EXPECT_GT(Duration("9000000000000000"), kMaxWindow);
  EXPECT_GT(Duration("99999999999d99999999999d"), kMaxWindow);
  EXPECT_LT(Duration("-5"), Micros{0});
}

TEST(DurationTest, DurationsArePrintedInTheLongestUnitAndReadBack) {
  EXPECT_EQ(FormatDuration(Micros{0}), "0s");
  EXPECT_EQ(FormatDuration(hours(24 * 31)), "31d");
  EXPECT_EQ(FormatDuration(seconds(90)), "90s");
  EXPECT_EQ(FormatDuration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatDuration(Micros{7}), "7us");
  for (const Micros duration : {Micros{1}, Micros{61'000'000}, Micros{hours(25)}, kMaxWindow}) {
    EXPECT_EQ(ParseDuration(FormatDuration(duration)), duration);
  }
}

TEST(DurationTest, DurationsHaveShortNames) {
  EXPECT_EQ(DurationName(seconds(1)), "1s");
  EXPECT_EQ(DurationName(minutes(1)), "60s");
  EXPECT_EQ(DurationName(milliseconds(1500)), "1500ms");
  EXPECT_EQ(DurationName(Micros(5)), "5us");
}

}  // namespace
}  // namespace sluice
