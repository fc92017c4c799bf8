#include "rules/number.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice::rules {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::optional<Micros> Duration(std::string_view text) { return ParseDuration(text, seconds(1)); }

std::string Rate(std::string_view text) {
  const auto rate = ParseRate(text);
  if (!rate) return "none";
  const auto exact = rate->period ? ToRate(rate->amount, *rate->period) : std::nullopt;
  if (!rate->period) return std::to_string(rate->amount.digits);
  if (!exact) return "too much";
  return std::to_string(exact->tokens) + " in " + std::to_string(exact->period.count());
}

TEST(NumberTest, DecimalsAreTakenAsTheyAreWritten) {
  EXPECT_EQ(ParseDecimal("1.67"), (Decimal{167, 2}));
  EXPECT_EQ(ParseDecimal("100"), (Decimal{100, 0}));
  EXPECT_EQ(ParseDecimal("2.50"), (Decimal{25, 1}));
  EXPECT_EQ(ParseDecimal("-3"), (Decimal{-3, 0}));
  EXPECT_EQ(ParseDecimal("1_000_000"), (Decimal{1'000'000, 0}));
  EXPECT_EQ(ParseDecimal("2.5e6"), (Decimal{2'500'000, 0}));
  EXPECT_EQ(ParseDecimal("1e-3"), (Decimal{1, 3}));
  EXPECT_EQ(ParseDecimal("0.1"), (Decimal{1, 1}));
}

TEST(NumberTest, WhatIsNoDecimalIsRefused) {
  for (const char* text : {"",
                           " ",
                           "abc",
                           "1.",
                           ".5",
                           "1,000",
                           "0x10",
                           "1e",
                           "1e99",
                           "--1",
                           "1 2",
                           "_1",
                           "1_",
                           "1__0",
                           "inf",
                           "nan",
                           "12345678901234567890",
                           "1.2.3",
                           "0.1234567890123456789",
                           "99e18"}) {
    EXPECT_EQ(ParseDecimal(text), std::nullopt) << text;
  }
}

TEST(NumberTest, AWholeNumberHasNoFraction) {
  EXPECT_EQ(ParseWhole("42"), 42);
  EXPECT_EQ(ParseWhole("42.0"), 42);
  EXPECT_EQ(ParseWhole("42.5"), std::nullopt);
}

TEST(NumberTest, DurationsHaveUnitsOrArePlain) {
  EXPECT_EQ(Duration("60"), seconds(60));
  EXPECT_EQ(Duration("0.5"), milliseconds(500));
  EXPECT_EQ(Duration("60s"), seconds(60));
  EXPECT_EQ(Duration("5m"), minutes(5));
  EXPECT_EQ(Duration("1h"), hours(1));
  EXPECT_EQ(Duration("1d"), hours(24));
  EXPECT_EQ(Duration("1w"), hours(168));
  EXPECT_EQ(Duration("250 ms"), milliseconds(250));
  EXPECT_EQ(Duration("7us"), Micros(7));
  EXPECT_EQ(Duration("1h30m"), minutes(90));
  EXPECT_EQ(Duration("2 Hours"), hours(2));
  EXPECT_EQ(Duration("minute"), minutes(1));
  EXPECT_EQ(ParseDuration("1500", milliseconds(1)), milliseconds(1500));
}

TEST(NumberTest, WhatIsNoDurationIsRefused) {
  for (const char* text : {"", "soon", "5 parsecs", "5m5", "m5", "1h-30m", "0.0000001", "month"}) {
    EXPECT_EQ(Duration(text), std::nullopt) << text;
  }
}

TEST(NumberTest, ADurationThatIsTooLongStaysTooLong) {
  EXPECT_GT(Duration("9000000000000000"), kMaxWindow);
  EXPECT_GT(Duration("99999999999d99999999999d"), kMaxWindow);
  EXPECT_LT(Duration("-5"), Micros{0});
}

TEST(NumberTest, RatesAreWrittenInManyWays) {
  for (const char* text : {"100 per minute", "100/m", "100 / 60s", "100 per 60 seconds", "100/min",
                           "100 PER Minute", "100 per 1m"}) {
    EXPECT_EQ(Rate(text), "1 in 600000") << text;
  }
  EXPECT_EQ(Rate("30/s"), "3 in 100000");
  EXPECT_EQ(Rate("1.5 per 10s"), "3 in 20000000");
  EXPECT_EQ(Rate("100"), "100");
}

TEST(NumberTest, WhatIsNoRateIsRefused) {
  for (const char* text : {"", "per minute", "100 minute", "100 per", "100/", "100 per month",
                           "ten per minute", "100 per minute per user"}) {
    EXPECT_EQ(Rate(text), "none") << text;
  }
}

TEST(NumberTest, RatesPerMonthAreKnownForWhatTheyAre) {
  EXPECT_TRUE(IsPerCalendarTime("1000 per month"));
  EXPECT_TRUE(IsPerCalendarTime("1000/Year"));
  EXPECT_FALSE(IsPerCalendarTime("1000 per minute"));
  EXPECT_FALSE(IsPerCalendarTime("month"));
}

TEST(NumberTest, ARateIsExact) {
  const auto rate = ToRate({167, 2}, seconds(1));
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->tokens, 167);
  EXPECT_EQ(rate->period, seconds(100));
}

TEST(NumberTest, ARateThatCanNotBeHeldIsNone) {
  EXPECT_FALSE(ToRate({1, 15}, seconds(1)));
  EXPECT_FALSE(ToRate({0, 0}, seconds(1)));
  EXPECT_FALSE(ToRate({9'007'199'254'740'993, 0}, Micros(1)));
}

TEST(NumberTest, DurationsHaveShortNames) {
  EXPECT_EQ(DurationName(seconds(1)), "1s");
  EXPECT_EQ(DurationName(minutes(1)), "60s");
  EXPECT_EQ(DurationName(milliseconds(1500)), "1500ms");
  EXPECT_EQ(DurationName(Micros(5)), "5us");
}

}  // namespace
}  // namespace sluice::rules
