#include <chrono>

#include <gtest/gtest.h>

#include "algo/testing/single_key.h"

namespace sluice::algo::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::sys_days;

/// Until when a window lasts that is used at `now`.
WallTime EndOfWindow(Anchor anchor, WallTime now) {
  SingleKey key(Limit::FixedWindow({.limit = 1, .anchor = anchor}).value(), now);
  return now + key.Check(now, 1).reset_after;
}

/// Where it begins.
WallTime StartOfWindow(Anchor anchor, WallTime now) {
  SingleKey key(Limit::FixedWindow({.limit = 1, .anchor = anchor}).value(), now);
  key.Check(now, 1);
  return key.ReceiptTime();
}

TEST(Calendar, ADayLastsFromMidnightToMidnight) {
  const sys_days day = 2025y / 3 / 30;
  EXPECT_EQ(StartOfWindow(Anchor::kDay, day), day);
  EXPECT_EQ(StartOfWindow(Anchor::kDay, day + 24h - 1us), day);
  EXPECT_EQ(EndOfWindow(Anchor::kDay, day), day + days(1));
  EXPECT_EQ(EndOfWindow(Anchor::kDay, day + 24h - 1us), day + days(1));
}

TEST(Calendar, AWeekBeginsOnMonday) {
  const sys_days monday = 2024y / 12 / 30;
  EXPECT_EQ(EndOfWindow(Anchor::kWeek, monday - 1us), monday);
  EXPECT_EQ(StartOfWindow(Anchor::kWeek, monday), monday);
  EXPECT_EQ(StartOfWindow(Anchor::kWeek, sys_days{2025y / 1 / 5}), monday);
  EXPECT_EQ(EndOfWindow(Anchor::kWeek, sys_days{2025y / 1 / 5}), sys_days{2025y / 1 / 6});
}

TEST(Calendar, AMonthEndsOnItsOwnLastDay) {
  EXPECT_EQ(EndOfWindow(Anchor::kMonth, sys_days{2023y / 2 / 28}), sys_days{2023y / 3 / 1});
  EXPECT_EQ(EndOfWindow(Anchor::kMonth, sys_days{2024y / 2 / 28}), sys_days{2024y / 3 / 1});
  EXPECT_EQ(EndOfWindow(Anchor::kMonth, sys_days{2024y / 4 / 30}), sys_days{2024y / 5 / 1});
  EXPECT_EQ(EndOfWindow(Anchor::kMonth, sys_days{2024y / 12 / 31}), sys_days{2025y / 1 / 1});
  EXPECT_EQ(StartOfWindow(Anchor::kMonth, sys_days{2024y / 3 / 1} - 1us), sys_days{2024y / 2 / 1});
}

TEST(Calendar, EveryFourthYearIsALeapYearButNotEveryCentury) {
  EXPECT_EQ(EndOfWindow(Anchor::kMonth, sys_days{2000y / 2 / 1}),
            sys_days{2000y / 2 / 1} + days(29));
  EXPECT_EQ(EndOfWindow(Anchor::kMonth, sys_days{2100y / 2 / 1}),
            sys_days{2100y / 2 / 1} + days(28));
  EXPECT_EQ(EndOfWindow(Anchor::kYear, sys_days{2024y / 1 / 1}),
            sys_days{2024y / 1 / 1} + days(366));
  EXPECT_EQ(EndOfWindow(Anchor::kYear, sys_days{2100y / 1 / 1}),
            sys_days{2100y / 1 / 1} + days(365));
}

TEST(Calendar, AYearEndsAtTheLastMicrosecondOfDecember) {
  const sys_days new_year = 2026y / 1 / 1;
  EXPECT_EQ(EndOfWindow(Anchor::kYear, new_year - 1us), new_year);
  EXPECT_EQ(StartOfWindow(Anchor::kYear, new_year - 1us), sys_days{2025y / 1 / 1});
  EXPECT_EQ(StartOfWindow(Anchor::kYear, new_year), new_year);
}

TEST(Calendar, NothingBeginsBeforeTheEpoch) {
  // The first of January 1970 was a Thursday.
  const WallTime epoch{};
  EXPECT_EQ(StartOfWindow(Anchor::kWeek, epoch), epoch);
  EXPECT_EQ(EndOfWindow(Anchor::kWeek, epoch), epoch + days(4));
  EXPECT_EQ(StartOfWindow(Anchor::kWeek, epoch + days(4)), epoch + days(4));
  EXPECT_EQ(StartOfWindow(Anchor::kYear, epoch + days(364)), epoch);
}

TEST(Calendar, SupportsTheLastRepresentableTime) {
  const sys_days last = std::chrono::floor<days>(kMaxTime);
  EXPECT_EQ(StartOfWindow(Anchor::kDay, kMaxTime), last);
  EXPECT_EQ(EndOfWindow(Anchor::kYear, kMaxTime), sys_days{2113y / 1 / 1});
}

TEST(Calendar, AgreesWithTheStandardLibraryOnEveryDay) {
  for (sys_days day = 1970y / 1 / 5; day < 2112y / 1 / 1; day += days(1)) {
    const std::chrono::year_month_day date{day};
    ASSERT_EQ(StartOfWindow(Anchor::kMonth, day + 13h), sys_days{date.year() / date.month() / 1});
    ASSERT_EQ(StartOfWindow(Anchor::kYear, day + 13h), sys_days{date.year() / 1 / 1});
    ASSERT_EQ(StartOfWindow(Anchor::kWeek, day + 13h),
              day - (std::chrono::weekday{day} - std::chrono::Monday));
  }
}

}  // namespace
}  // namespace sluice::algo::testing
