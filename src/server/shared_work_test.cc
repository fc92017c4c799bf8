#include "server/shared_work.h"

#include <atomic>
#include <latch>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/testing/test_server.h"

namespace sluice::server {
namespace {

using ::testing::Each;
using ::testing::SizeIs;
using transport::testing::Eventually;

/// Work that does not end before it may. Its result is how many runs had begun, and which task.
class SharedWorkTest : public ::testing::Test {
 protected:
  using Work = SharedWork<char, std::string>;

  std::string Run(char task) {
    const int run = ++begun_;
    gate_.wait();
    gate_.wait();
    return task + std::to_string(run);
  }
  void Ask(char task) {
    work_.Ask(task, caller_.loop(), [this](const std::shared_ptr<const std::string>& result) {
      results_.push_back(*result);
      ++answers_;
    });
  }

  std::latch gate_{1};
  std::atomic<int> begun_{0};
  std::atomic<int> answers_{0};
  std::vector<std::string> results_;  // On the caller's loop.
  net::LoopThread caller_;
  Work work_{[this](char task) { return Run(task); }};
};

TEST_F(SharedWorkTest, ThousandsWhoWaitShareOneRun) {
  Ask('a');
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  for (int i = 0; i < 5000; ++i) Ask('a');
  gate_.count_down();
  ASSERT_TRUE(Eventually([this] { return answers_ == 5001; }));
  EXPECT_EQ(work_.runs(), 2U);
  caller_.Do([this] {
    EXPECT_EQ(results_.front(), "a1");
    results_.erase(results_.begin());
    EXPECT_THAT(results_, Each("a2")) << "requests after the start of a run get the next one";
  });
}

TEST_F(SharedWorkTest, TheCallersLoopGoesOnMeanwhile) {
  Ask('a');
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  bool turned = false;
  caller_.Do([&] { turned = true; });
  EXPECT_TRUE(turned);
  EXPECT_EQ(answers_, 0);
  gate_.count_down();
  EXPECT_TRUE(Eventually([this] { return answers_ == 1; }));
}

TEST_F(SharedWorkTest, DifferentTasksAreRunOneAfterTheOther) {
  Ask('a');
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  for (int i = 0; i < 10; ++i) {
    Ask('b');
    Ask('a');
  }
  gate_.count_down();
  ASSERT_TRUE(Eventually([this] { return answers_ == 21; }));
  EXPECT_EQ(work_.runs(), 3U);
}

TEST_F(SharedWorkTest, ManyCallbacksLeaveRoomForOthersOfTheirLoop) {
  std::atomic<int> slow{0};
  Ask('a');
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  for (int i = 0; i < 50; ++i) {
    work_.Ask('a', caller_.loop(), [&](const std::shared_ptr<const std::string>& /*result*/) {
      const SteadyTime end = SteadyClock::Now() + std::chrono::milliseconds(5);
      while (SteadyClock::Now() < end) {
      }
      ++slow;
    });
  }
  gate_.count_down();
  ASSERT_TRUE(Eventually([&] { return slow > 0; }));
  int seen = 0;
  caller_.Do([&] { seen = slow; });
  EXPECT_LT(seen, 50) << "another function had its turn in between";
  EXPECT_TRUE(Eventually([&] { return slow == 50; }));
}

TEST_F(SharedWorkTest, ATaskThatFindsTooManyWaitingIsRefused) {
  Work bounded([this](char task) { return Run(task); }, {.max_waiting = 2, .rests = false});
  const auto count = [this](const auto& /*result*/) { ++answers_; };
  EXPECT_TRUE(bounded.Ask('a', caller_.loop(), count));
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  EXPECT_TRUE(bounded.Ask('b', caller_.loop(), count));
  EXPECT_TRUE(bounded.Ask('c', caller_.loop(), count));
  EXPECT_FALSE(bounded.Ask('d', caller_.loop(), count));
  EXPECT_TRUE(bounded.Ask('c', caller_.loop(), count)) << "it shares a run";
  gate_.count_down();
  ASSERT_TRUE(Eventually([this] { return answers_ == 4; }));
  EXPECT_TRUE(bounded.Ask('d', caller_.loop(), count));
  EXPECT_TRUE(Eventually([this] { return answers_ == 5; }));
}

TEST_F(SharedWorkTest, SeveralThreadsRunDifferentTasksAtOnce) {
  Work several([this](char task) { return Run(task); }, {.threads = 3});
  for (const char task : {'a', 'b', 'c'}) {
    several.Ask(task, caller_.loop(), [this](const auto& /*result*/) { ++answers_; });
  }
  ASSERT_TRUE(Eventually([this] { return begun_ == 3; })) << "none has ended";
  EXPECT_FALSE(several.TryStop(Micros{1000}));
  gate_.count_down();
  EXPECT_TRUE(several.TryStop(std::chrono::seconds(20)));
}

TEST_F(SharedWorkTest, StoppedItRunsNothingMore) {
  Ask('a');
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  Ask('a');
  gate_.count_down();
  work_.Stop();
  EXPECT_TRUE(work_.TryStop(Micros{0}));
  EXPECT_EQ(work_.runs(), 1U);
  caller_.Do([] {});
  caller_.Do([this] { EXPECT_THAT(results_, SizeIs(1)); });
}

TEST_F(SharedWorkTest, ARunThatDoesNotEndIsNotWaitedForLongerThanAsked) {
  Ask('a');
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  EXPECT_FALSE(work_.TryStop(Micros{1000}));
  gate_.count_down();
  EXPECT_TRUE(work_.TryStop(std::chrono::seconds(20)));
}

}  // namespace
}  // namespace sluice::server
