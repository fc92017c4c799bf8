#include "net/timer.h"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

class TimerTest : public ::testing::Test {
 protected:
  void RunFor(Micros time) {
    loop_.RunUntil([] { return false; }, SteadyClock::Now() + time);
  }

  Loop loop_;
  int fired_ = 0;
  SteadyTime when_{};
  Timer timer_{loop_, [this] {
                 ++fired_;
                 when_ = loop_.Now();
               }};
};

TEST_F(TimerTest, ItFiresOnceNotBeforeItsTime) {
  const SteadyTime due = SteadyClock::Now() + milliseconds(10);
  timer_.Set(due);
  RunFor(milliseconds(40));
  EXPECT_EQ(fired_, 1);
  EXPECT_GE(when_, due);
}

TEST_F(TimerTest, ItCanBePostponed) {
  const SteadyTime due = SteadyClock::Now() + milliseconds(30);
  timer_.Set(due - milliseconds(25));
  timer_.Set(due);
  RunFor(milliseconds(60));
  EXPECT_EQ(fired_, 1);
  EXPECT_GE(when_, due);
}

TEST_F(TimerTest, ItCanBeBroughtForward) {
  timer_.Set(SteadyClock::Now() + std::chrono::hours(1));
  timer_.Set(SteadyClock::Now() + milliseconds(5));
  RunFor(milliseconds(40));
  EXPECT_EQ(fired_, 1);
}

TEST_F(TimerTest, CancelledItDoesNotFire) {
  timer_.Set(SteadyClock::Now() + milliseconds(5));
  timer_.Cancel();
  RunFor(milliseconds(20));
  EXPECT_EQ(fired_, 0);
  timer_.Set(SteadyClock::Now() + milliseconds(5));
  RunFor(milliseconds(30));
  EXPECT_EQ(fired_, 1) << "but it can be set again";
}

TEST_F(TimerTest, ATimeInThePastFiresInALaterTurn) {
  timer_.Set(SteadyTime{});
  EXPECT_EQ(fired_, 0);
  RunFor(milliseconds(10));
  EXPECT_EQ(fired_, 1);
}

TEST_F(TimerTest, TheMaximumTimeIsSupported) {
  timer_.Set(SteadyTime::max() - Micros{1});
  RunFor(milliseconds(5));
  EXPECT_EQ(fired_, 0);
}

TEST_F(TimerTest, ItsActionMayDestroyIt) {
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(loop_, [&] { timer.reset(); });
  timer->Set(SteadyTime{});
  EXPECT_TRUE(
      loop_.RunUntil([&] { return timer == nullptr; }, SteadyClock::Now() + milliseconds(5000)));
}

TEST_F(TimerTest, DestroyedItDoesNotFire) {
  bool fired = false;
  auto timer = std::make_unique<Timer>(loop_, [&] { fired = true; });
  timer->Set(SteadyTime{});
  timer.reset();
  RunFor(milliseconds(5));
  EXPECT_FALSE(fired);
}

TEST_F(TimerTest, SeveralFireInTheOrderOfTheirTimes) {
  std::vector<int> order;
  Timer second(loop_, [&] { order.push_back(2); });
  Timer first(loop_, [&] { order.push_back(1); });
  const SteadyTime now = SteadyClock::Now();
  second.Set(now + milliseconds(12));
  first.Set(now + milliseconds(4));
  RunFor(milliseconds(40));
  EXPECT_THAT(order, ElementsAre(1, 2));
}

}  // namespace
}  // namespace sluice::net
