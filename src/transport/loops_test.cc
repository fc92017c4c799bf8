#include "net/loops.h"

#include <atomic>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "transport/testing/test_server.h"

namespace sluice::transport {
namespace {

using testing::Eventually;

TEST(LoopsTest, ThereAreAsManyAsAskedForOrOnePerCore) {
  EXPECT_EQ(net::Loops(3).size(), 3U);
  EXPECT_GE(net::Loops(0).size(), 1U);
}

TEST(LoopsTest, DoRunsOnEachLoop) {
  net::Loops loops(3);
  std::vector<std::thread::id> threads(3);
  loops.Do([&](std::size_t i) { threads[i] = std::this_thread::get_id(); });
  EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), 3U);
  EXPECT_FALSE(std::set(threads.begin(), threads.end()).contains(std::this_thread::get_id()));
}

TEST(LoopsTest, PostRunsOnceOnEachLoop) {
  net::Loops loops(3);
  std::atomic<int> ran = 0;
  loops.Post([&](std::size_t) { ++ran; });
  loops.Do([](std::size_t) {});
  EXPECT_EQ(ran, 3);
}

TEST(LoopsTest, ALoopThatIsStuckHasNoPulse) {
  net::Loops loops(2);
  EXPECT_TRUE(loops.TakePulse());
  loops.Do([](std::size_t) {});
  EXPECT_TRUE(loops.TakePulse());
  std::latch stuck(1);
  loops[1].Post([&] { stuck.wait(); });
  EXPECT_TRUE(Eventually([&] { return !loops.TakePulse() && !loops.TakePulse(); }));
  stuck.count_down();
  EXPECT_TRUE(Eventually([&] { return loops.TakePulse(); }));
}

}  // namespace
}  // namespace sluice::transport
