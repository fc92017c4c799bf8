#include "net/loop.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using ::testing::ElementsAre;

SteadyTime Soon() { return SteadyClock::Now() + std::chrono::seconds(10); }

TEST(LoopTest, PostedFunctionsRunInOrder) {
  Loop loop;
  std::vector<int> seen;
  for (int i = 0; i < 3; ++i) loop.Post([&seen, i] { seen.push_back(i); });
  EXPECT_TRUE(loop.RunUntil([&] { return seen.size() == 3; }, Soon()));
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
}

TEST(LoopTest, OtherThreadsMayPostAndStop) {
  Loop loop;
  std::atomic<int> ran = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        loop.Post([&] {
          if (++ran == 4000) loop.Stop();
        });
      }
    });
  }
  loop.Run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 4000);
}

TEST(LoopTest, AStopBeforeRunTakesEffect) {
  Loop loop;
  loop.Stop();
  loop.Run();
}

TEST(LoopTest, WaitingEndsAtItsDeadline) {
  Loop loop;
  const SteadyTime deadline = SteadyClock::Now() + std::chrono::milliseconds(20);
  EXPECT_FALSE(loop.RunUntil([] { return false; }, deadline));
  EXPECT_GE(SteadyClock::Now(), deadline);
}

TEST(LoopTest, TheTimeStandsStillWithinATurn) {
  Loop loop;
  std::vector<SteadyTime> times;
  loop.Post([&] {
    times.push_back(loop.Now());
    const SteadyTime until = times[0] + Micros{100};
    while (SteadyClock::Now() < until) {
    }
    times.push_back(loop.Now());
    loop.Post([] {});
  });
  EXPECT_TRUE(loop.RunUntil([&] { return times.size() == 2; }, Soon()));
  EXPECT_EQ(times[0], times[1]);
  bool later = false;
  loop.Post([&] { later = loop.Now() > times[0]; });
  EXPECT_TRUE(loop.RunUntil([&] { return later; }, Soon()));
}

TEST(TurnEndTest, ItRunsOnceAfterEverythingElseOfTheTurn) {
  Loop loop;
  std::vector<std::string> seen;
  TurnEnd end(loop, [&] { seen.emplace_back("end"); });
  for (int i = 0; i < 3; ++i) {
    loop.Post([&] {
      seen.emplace_back("work");
      end.Schedule();
    });
  }
  EXPECT_TRUE(loop.RunUntil([&] { return seen.size() >= 4; }, Soon()));
  EXPECT_THAT(seen, ElementsAre("work", "work", "work", "end"));
}

TEST(TurnEndTest, ScheduledBeforeRunItDoesNotBlock) {
  Loop loop;
  int ran = 0;
  TurnEnd end(loop, [&] { ++ran; });
  end.Schedule();
  EXPECT_TRUE(loop.RunUntil([&] { return ran == 1; }, Soon()));
}

TEST(TurnEndTest, ScheduledByItselfItRunsInTheNextTurn) {
  Loop loop;
  int ran = 0;
  TurnEnd* self = nullptr;
  TurnEnd end(loop, [&] {
    if (++ran < 3) self->Schedule();
  });
  self = &end;
  end.Schedule();
  EXPECT_TRUE(loop.RunUntil([&] { return ran == 3; }, Soon()));
}

TEST(TurnEndTest, OneMayDestroyAnother) {
  Loop loop;
  bool ran = false;
  std::unique_ptr<TurnEnd> victim;
  TurnEnd end(loop, [&] { victim.reset(); });
  victim = std::make_unique<TurnEnd>(loop, [&] { ran = true; });
  end.Schedule();
  victim->Schedule();
  EXPECT_TRUE(loop.RunUntil([&] { return victim == nullptr; }, Soon()));
  EXPECT_FALSE(ran);
}

TEST(LoopThreadTest, ItRunsPostedWorkOnItsThread) {
  LoopThread thread;
  std::thread::id where;
  thread.Do([&] { where = std::this_thread::get_id(); });
  EXPECT_NE(where, std::this_thread::get_id());
}

}  // namespace
}  // namespace sluice::net
