#include "server/heartbeat.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kStart{seconds(1000)};

TEST(ServerCountTest, MoreAreBelievedAtOnce) {
  ServerCount count;
  EXPECT_EQ(count.Hear(1, kStart), 1U);
  EXPECT_EQ(count.Hear(4, kStart + seconds(1)), 4U);
  EXPECT_EQ(count.Hear(9, kStart + seconds(2)), 9U);
}

TEST(ServerCountTest, FewerAreBelievedAfterAWhile) {
  ServerCount count;
  EXPECT_EQ(count.Hear(4, kStart), 4U);
  EXPECT_EQ(count.Hear(1, kStart + seconds(5)), 4U);
  EXPECT_EQ(count.Hear(3, kStart + ServerCount::kDoubt), 3U);
}

TEST(ServerCountTest, ThereIsAlwaysOne) { EXPECT_EQ(ServerCount().Hear(0, kStart), 1U); }

}  // namespace
}  // namespace sluice::server
