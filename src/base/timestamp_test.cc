#include "base/timestamp.h"

#include <chrono>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr WallTime kNoon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 15} + hours(12);

TEST(TimestampTest, ALenientDateMayBeWrittenInManyWays) {
  for (const char* text :
       {"2026-11-15T12:00:00Z", "2026-11-15T12:00:00.000Z", "2026-11-15T12:00:00",
        "2026-11-15 12:00", "2026-11-15t12:00:00z", "2026-11-15T13:00:00+01:00",
        "2026-11-15T13:00:00+0100", "2026-11-15T06:30:00-05:30", "2026-11-15T14:00+02",
        "2026-11-15T11:59:60Z"}) {
    EXPECT_EQ(ParseTimestamp(text, TimestampForm::kLenient), kNoon) << text;
  }
}

TEST(TimestampTest, AnRfc3339DateHasSecondsAndAZone) {
  for (const char* text :
       {"2026-11-15T12:00:00Z", "2026-11-15T12:00:00.000Z", "2026-11-15t12:00:00z",
        "2026-11-15T13:00:00+01:00", "2026-11-15T06:30:00-05:30", "2026-11-15T11:59:60Z"}) {
    EXPECT_EQ(ParseTimestamp(text), kNoon) << text;
  }
  for (const char* text : {"2026-11-15T12:00:00", "2026-11-15 12:00:00Z", "2026-11-15T12:00Z",
                           "2026-11-15T14:00:00+02", "2026-11-15T13:00:00+0100",
                           "2026-11-15T12:00:00,5Z", "1794744000"}) {
    EXPECT_EQ(ParseTimestamp(text), std::nullopt) << text;
  }
}

TEST(TimestampTest, FractionsOfASecondAreKeptToTheMicrosecond) {
  EXPECT_EQ(ParseTimestamp("2026-11-15T12:00:00.5Z"), kNoon + Micros(500'000));
  EXPECT_EQ(ParseTimestamp("2026-11-15T12:00:00,25Z", TimestampForm::kLenient),
            kNoon + Micros(250'000));
  EXPECT_EQ(ParseTimestamp("2026-11-15T12:00:00.123456Z"), kNoon + Micros(123'456));
  EXPECT_EQ(ParseTimestamp("2026-11-15T12:00:00.123456999+00:00"), kNoon + Micros(123'456));
}

TEST(TimestampTest, OtherTextsAreRefused) {
  for (const char* text : {"2026-11-15", "2026-11-15T", "2026-11-15T12", "2026-13-15T12:00:00Z",
                           "2026-02-29T12:00:00Z", "2026-11-15T24:00:00Z", "2026-11-15T12:60:00Z",
                           "2026-11-15T12:00:61Z", "2026-11-15T12:00:00.Z", "2026-11-15T12:00:00X",
                           "2026-11-15T12:00:00+1", "2026-11-15T12:00:00+24:00",
                           "2026-11-15T12:00:00Z ", "2026-11-15X12:00:00Z", "2026-1-15T12:00:00Z",
                           "1969-12-31T23:59:59Z", "9999-01-01T00:00:00Z", ""}) {
    EXPECT_EQ(ParseTimestamp(text), std::nullopt) << text;
    EXPECT_EQ(ParseTimestamp(text, TimestampForm::kLenient), std::nullopt) << text;
  }
}

TEST(TimestampTest, ATimeIsWrittenWithAsManyDigitsAsItHas) {
  EXPECT_EQ(FormatTimestamp(kNoon), "2026-11-15T12:00:00Z");
  EXPECT_EQ(FormatTimestamp(kNoon + Micros(250'000)), "2026-11-15T12:00:00.25Z");
  EXPECT_EQ(FormatTimestamp(kNoon + seconds(10) + Micros(1)), "2026-11-15T12:00:10.000001Z");
  EXPECT_EQ(FormatTimestamp(WallTime{}), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace sluice
