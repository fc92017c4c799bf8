#include "server/room_watch.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kStart{seconds(1000)};

TEST(RoomWatchTest, TellsAtMostOnceAMinuteAndLeavesNothingOut) {
  RoomWatch watch;
  EXPECT_EQ(watch.Update(0, kStart), 0U);
  EXPECT_EQ(watch.Update(3, kStart + seconds(5)), 3U);
  EXPECT_EQ(watch.Update(10, kStart + seconds(10)), 0U);
  EXPECT_EQ(watch.Update(10, kStart + seconds(65)), 7U);
  EXPECT_EQ(watch.Update(10, kStart + seconds(200)), 0U);
}

TEST(RoomWatchTest, IsFullUntilAMinuteHasPassedWithoutARefusal) {
  RoomWatch watch;
  (void)watch.Update(0, kStart);
  EXPECT_FALSE(watch.is_full());
  (void)watch.Update(1, kStart + seconds(5));
  EXPECT_TRUE(watch.is_full());
  (void)watch.Update(1, kStart + seconds(60));
  EXPECT_TRUE(watch.is_full());
  (void)watch.Update(1, kStart + seconds(65));
  EXPECT_FALSE(watch.is_full());
}

}  // namespace
}  // namespace sluice::server
