#include "config_text/rate_text.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice::config_text {
namespace {

using std::chrono::seconds;

std::string Rate(std::string_view text) {
  const auto rate = ParseRate(text);
  if (!rate) return "none";
  const auto exact = rate->period ? ToRate(rate->amount, *rate->period) : std::nullopt;
  if (!rate->period) return std::to_string(rate->amount.digits);
  if (!exact) return "too much";
  return std::to_string(exact->tokens) + " in " + std::to_string(exact->period.count());
}

TEST(RateTextTest, RatesAreWrittenInManyWays) {
  for (const char* text : {"100 per minute", "100/m", "100 / 60s", "100 per 60 seconds", "100/min",
                           "100 PER Minute", "100 per 1m"}) {
    EXPECT_EQ(Rate(text), "1 in 600000") << text;
  }
  EXPECT_EQ(Rate("30/s"), "3 in 100000");
  EXPECT_EQ(Rate("1.5 per 10s"), "3 in 20000000");
  EXPECT_EQ(Rate("100"), "100");
}

TEST(RateTextTest, InvalidRatesAreRejected) {
  for (const char* text : {"", "per minute", "100 minute", "100 per", "100/", "100 per month",
                           "ten per minute", "100 per minute per user"}) {
    EXPECT_EQ(Rate(text), "none") << text;
  }
}

TEST(RateTextTest, RatesPerMonthAreRecognized) {
  EXPECT_TRUE(IsPerCalendarTime("1000 per month"));
  EXPECT_TRUE(IsPerCalendarTime("1000/Year"));
  EXPECT_FALSE(IsPerCalendarTime("1000 per minute"));
  EXPECT_FALSE(IsPerCalendarTime("month"));
}

TEST(RateTextTest, ARateIsExact) {
  const auto rate = ToRate({167, 2}, seconds(1));
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->tokens, 167);
  EXPECT_EQ(rate->period, seconds(100));
}

TEST(RateTextTest, ARateOutOfRangeIsRejected) {
  EXPECT_FALSE(ToRate({1, 15}, seconds(1)));
  EXPECT_FALSE(ToRate({0, 0}, seconds(1)));
  EXPECT_FALSE(ToRate({9'007'199'254'740'993, 0}, Micros(1)));
}

}  // namespace
}  // namespace sluice::config_text
