#include "base/clock.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace sluice {
namespace {

TEST(SystemClockTest, ItReturnsTheSystemsTime) {
  const auto before = std::chrono::floor<Micros>(std::chrono::system_clock::now());
  const WallTime now = TheSystemClock().Now();
  const auto after = std::chrono::system_clock::now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(SystemClockTest, ItsTimeIsInTheRangeThatLimitsHold) {
  EXPECT_GT(TheSystemClock().Now(), WallTime{});
  EXPECT_LT(TheSystemClock().Now(), kMaxTime);
}

TEST(FastWallTimeTest, ItIsNeverAheadOfTheClockNorGoesBack) {
  // Long enough for several anchors.
  const SteadyTime end = SteadyClock::Now() + std::chrono::milliseconds(20);
  WallTime last{};
  while (SteadyClock::Now() < end) {
    const WallTime now = FastWallTime();
    ASSERT_LE(now, TheSystemClock().Now());
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(FastWallTimeTest, ItFollowsTheClock) {
  // A thread that is preempted in between sees a larger difference, so the smallest counts.
  Micros least = std::chrono::hours(1);
  for (int i = 0; i < 10'000; ++i) {
    const WallTime before = TheSystemClock().Now();
    least = std::min(least, before - FastWallTime());
  }
  EXPECT_LE(least, Micros{10});
}

TEST(SystemClockTest, ThereIsOneInstance) { EXPECT_EQ(&TheSystemClock(), &TheSystemClock()); }

TEST(SteadyClockTest, ItGoesForwardAtTheSystemsPace) {
  const auto before = std::chrono::steady_clock::now();
  const SteadyTime first = SteadyClock::Now();
  SteadyTime last = first;
  while (last - first < Micros{2000}) {
    const SteadyTime now = SteadyClock::Now();
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_GE(std::chrono::steady_clock::now() - before, Micros{1999});
}

TEST(FakeClockTest, ItStandsStillUntilItIsMoved) {
  FakeClock clock(WallTime{Micros{5}});
  EXPECT_EQ(clock.Now(), WallTime{Micros{5}});
  clock.Advance(Micros{7});
  EXPECT_EQ(clock.Now(), WallTime{Micros{12}});
}

TEST(FakeClockTest, ItCanBeSetBack) {
  FakeClock clock(WallTime{Micros{5}});
  clock.Set(WallTime{Micros{3}});
  EXPECT_EQ(clock.Now(), WallTime{Micros{3}});
}

}  // namespace
}  // namespace sluice
