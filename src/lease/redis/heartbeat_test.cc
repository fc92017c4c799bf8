#include "lease/redis/heartbeat.h"

#include <gtest/gtest.h>

namespace sluice::lease {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kStart{seconds(1000)};

TEST(PeerCountTest, AnIncreaseTakesEffectImmediately) {
  PeerCount count;
  EXPECT_EQ(count.Update(1, kStart), 1U);
  EXPECT_EQ(count.Update(4, kStart + seconds(1)), 4U);
  EXPECT_EQ(count.Update(9, kStart + seconds(2)), 9U);
}

TEST(PeerCountTest, ADecreaseTakesEffectAfterConfirmation) {
  PeerCount count;
  EXPECT_EQ(count.Update(4, kStart), 4U);
  EXPECT_EQ(count.Update(1, kStart + seconds(5)), 4U);
  EXPECT_EQ(count.Update(3, kStart + PeerCount::kConfirmation), 3U);
}

TEST(PeerCountTest, CountsAtLeastOne) { EXPECT_EQ(PeerCount().Update(0, kStart), 1U); }

constexpr WallTime kNoon{seconds(1'900'000'000)};
using std::chrono::milliseconds;

TEST(ClockOffsetTest, AClockThatAgreesWithinTheRoundTripIsNotCorrected) {
  ClockOffset offset;
  EXPECT_EQ(offset.Update(kNoon, kNoon + milliseconds(2), kNoon + milliseconds(1)), Micros(0));
}

TEST(ClockOffsetTest, TheErrorIsAtMostTheShortestRoundTrip) {
  ClockOffset offset;
  const auto read = [&](Micros at, Micros out, Micros back) {
    const WallTime sent = kNoon + at;
    return offset.Update(sent, sent + out + back, sent + out + seconds(5));
  };
  EXPECT_NEAR(static_cast<double>(read(seconds(0), milliseconds(300), milliseconds(100)).count()),
              5e6, 4e5);
  EXPECT_NEAR(static_cast<double>(read(seconds(1), milliseconds(1), milliseconds(1)).count()), 5e6,
              2e3);
  const Micros good = read(seconds(2), milliseconds(400), milliseconds(1));
  EXPECT_NEAR(static_cast<double>(good.count()), 5e6, 2e3) << "a slow reply does not disturb it";
}

TEST(ClockOffsetTest, FollowsAClockThatIsSet) {
  ClockOffset offset;
  EXPECT_GT(offset.Update(kNoon, kNoon, kNoon + seconds(5)), seconds(4));
  EXPECT_EQ(offset.Update(kNoon, kNoon + milliseconds(1), kNoon - seconds(5)), -seconds(5))
      << "Redis was restarted on another machine";
  EXPECT_EQ(offset.Update(kNoon, kNoon - seconds(60), kNoon), -seconds(5));
}

}  // namespace
}  // namespace sluice::lease
