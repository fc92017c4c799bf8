#include "text_table.h"

#include <string>

#include <gtest/gtest.h>

#include "limit_text.h"
#include "progress.h"

namespace sluice::app {
namespace {

using std::chrono::seconds;

TEST(TextTableTest, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table({TextTable::Align::kLeft, TextTable::Align::kRight, TextTable::Align::kLeft});
  table.Add({"rule", "met", "key"});
  table.Add({"a", "12345", "ä"});
  table.Add({"longer", "1"});
  std::string out;
  table.Print(2, out);
  EXPECT_EQ(out,
            "  rule      met  key\n"
            "  a       12345  ä\n"
            "  longer      1\n");
}

TEST(TextTableTest, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(Shown("a\x1b[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
  EXPECT_EQ(Shown("ä €"), "ä €");
}

TEST(LimitTextTest, EveryAlgorithmIsToldInWords) {
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

TEST(LimitTextTest, SpansAreToldInTheirLargestUnit) {
  EXPECT_EQ(SpanText(Micros(1)), "1us");
  EXPECT_EQ(SpanText(Micros(250'000)), "250ms");
  EXPECT_EQ(SpanText(Micros(1'500'000)), "1.5s");
  EXPECT_EQ(SpanText(std::chrono::hours(36)), "36h");
}

TEST(ProgressTest, TheLineTellsHowFarItIsAndHowLongItTakes) {
  EXPECT_EQ(ProgressLine(50, 100, 2000, seconds(2)),
            "[===============>              ]  50 %  2000 calls, 1000/s, 2 s left");
  EXPECT_EQ(ProgressLine(100, 100, 10, seconds(1)),
            "[==============================] 100 %  10 calls, 10/s, 0 s left");
  EXPECT_EQ(ProgressLine(0, 100, 0, seconds(0)),
            "[>                             ]   0 %  0 calls, 0/s");
}

TEST(ProgressTest, WhatHasNoKnownEndHasNoBar) {
  EXPECT_EQ(ProgressLine(50, std::nullopt, 30, seconds(3)), "30 calls, 10/s");
}

}  // namespace
}  // namespace sluice::app
