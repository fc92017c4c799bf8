#include "rules/limit_text.h"

#include <gtest/gtest.h>

namespace sluice::rules {
namespace {

using std::chrono::seconds;

TEST(LimitTextTest, DescribesEveryAlgorithm) {
  const auto text = [](const Result<Limit>& limit) { return LimitText(limit->numbers()); };
  EXPECT_EQ(text(Limit::TokenBucket({.capacity = 100, .refill = Rate::Per(167, seconds(100))})),
            "100 at once, then 1.67 per second");
  EXPECT_EQ(text(Limit::TokenBucket({.capacity = 5, .refill = Rate::PerHour(30)})),
            "5 at once, then 30 per hour");
  EXPECT_EQ(
      text(Limit::TokenBucket({.capacity = 5, .refill = Rate::Per(1, std::chrono::hours(48))})),
      "5 at once, then 0.5 per day");
  EXPECT_EQ(text(Limit::TokenBucket({.capacity = 5,
                                     .refill = Rate::PerMinute(1),
                                     .refill_interval = std::chrono::minutes(1)})),
            "5 at once, then 1 per minute, every 1m");
  EXPECT_EQ(text(Limit::LeakyBucket({.capacity = 3, .leak = Rate::PerSecond(2)})),
            "2 per second, up to 3 waiting");
  EXPECT_EQ(text(Limit::FixedWindow({.limit = 7, .window = seconds(90)})), "7 in each 90s");
  EXPECT_EQ(text(Limit::FixedWindow({.limit = 7, .anchor = Anchor::kMonth})),
            "7 in each calendar month (UTC)");
  EXPECT_EQ(text(Limit::FixedWindow(
                {.limit = 7, .window = std::chrono::hours(24), .anchor = Anchor::kFirstHit})),
            "7 in each 1d from the first call");
  EXPECT_EQ(text(Limit::SlidingWindowLog({.limit = 7, .window = seconds(60)})), "7 in any 1m");
  EXPECT_EQ(text(Limit::SlidingWindowCounter({.limit = 7, .window = seconds(1)})),
            "about 7 in any 1s");
  EXPECT_EQ(text(Limit::Concurrency({.limit = 7, .time_to_live = seconds(30)})),
            "7 in flight, each for at most 30s");
}

TEST(LimitTextTest, WritesSpansInTheirLargestUnit) {
  EXPECT_EQ(SpanText(Micros(1)), "1us");
  EXPECT_EQ(SpanText(Micros(250'000)), "250ms");
  EXPECT_EQ(SpanText(Micros(1'500'000)), "1.5s");
  EXPECT_EQ(SpanText(std::chrono::hours(36)), "36h");
}

}  // namespace
}  // namespace sluice::rules
