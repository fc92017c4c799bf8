#include "simulate/trace_time.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::simulate {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kNoon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 15} + hours(12);

TEST(TraceTimeTest, ADateMayBeWrittenInManyWays) {
  for (const char* text :
       {"2026-11-15T12:00:00Z", "2026-11-15T12:00:00.000Z", "2026-11-15T12:00:00",
        "2026-11-15 12:00", "2026-11-15t12:00:00z", "2026-11-15T13:00:00+01:00",
        "2026-11-15T13:00:00+0100", "2026-11-15T06:30:00-05:30", "2026-11-15T14:00+02",
        "2026-11-15T11:59:60Z"}) {
    EXPECT_EQ(ParseTime(text), kNoon) << text;
  }
}

TEST(TraceTimeTest, ANumberTellsItsUnitByItsMagnitude) {
  EXPECT_EQ(ParseTime("1794744000"), kNoon);
  EXPECT_EQ(ParseTime("1794744000000"), kNoon);
  EXPECT_EQ(ParseTime("1794744000000000"), kNoon);
  EXPECT_EQ(ParseTime("1794744000000000000"), kNoon);
  EXPECT_EQ(ParseTime("0"), WallTime{});
  EXPECT_EQ(ParseTime("60"), WallTime{} + minutes(1));
}

TEST(TraceTimeTest, ANumberMayHaveAFraction) {
  EXPECT_EQ(ParseTime("1794744000.25"), kNoon + Micros(250'000));
  EXPECT_EQ(ParseTime("1794744000000.25"), kNoon + Micros(250));
  EXPECT_EQ(ParseTime("1794744000000000.9"), kNoon);
  EXPECT_EQ(ParseTime("1.0000019"), WallTime{} + seconds(1) + Micros(1));
  EXPECT_EQ(ParseTime("1."), WallTime{} + seconds(1));
}

TEST(TraceTimeTest, AUnitThatIsGivenHolds) {
  EXPECT_EQ(ParseTime("1500", TimeUnit::kMillis), WallTime{} + Micros(1'500'000));
  EXPECT_EQ(ParseTime("1500", TimeUnit::kMicros), WallTime{} + Micros(1500));
  EXPECT_EQ(ParseTime("1500", TimeUnit::kNanos), WallTime{} + Micros(1));
  EXPECT_EQ(ParseTime("1500", TimeUnit::kSeconds), WallTime{} + seconds(1500));
  EXPECT_EQ(ParseTime("1794744000000", TimeUnit::kSeconds), std::nullopt);
}

TEST(TraceTimeTest, WhatIsNoNumberIsNothing) {
  for (const char* text :
       {"", "-1", "+1", "1e9", "0x10", "1,5", ".5", "now", "1 ", "99999999999999999999"}) {
    EXPECT_EQ(ParseTime(text), std::nullopt) << text;
  }
}

TEST(TraceTimeTest, SecondsAreSecondsHoweverMany) {
  EXPECT_EQ(ParseSeconds("0.25"), Micros(250'000));
  EXPECT_EQ(ParseSeconds("3"), seconds(3));
  EXPECT_EQ(ParseSeconds("fast"), std::nullopt);
}

}  // namespace
}  // namespace sluice::simulate
