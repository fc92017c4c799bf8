#include "control/follower.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "control/testing/conformance.h"
#include "control/testing/fake_control_store.h"

namespace sluice::control {
namespace {

using testing::CommitText;
using testing::FakeControlStore;

/// The rules of a process with a follower; waits for them to change.
class FollowerTest : public ::testing::Test {
 protected:
  SyncHooks Hooks() {
    return {.activate = [this](const Version& version) {
      const std::lock_guard lock(mutex_);
      rules_ = version.text;
      changed_.notify_all();
      return LoadReport{.activated = true};
    }};
  }
  static SyncOptions Options() { return {.node = {.id = "a"}, .interval = std::chrono::hours(1)}; }
  bool AwaitRules(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return rules_ == text; });
  }

  FakeControlStore store_{TheSystemClock()};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string rules_;
};

TEST_F(FollowerTest, StartReturnsWithTheRulesOfTheStore) {
  CommitText(store_, "one");
  Follower follower(store_, nullptr, Options(), Hooks());
  EXPECT_EQ(follower.Start().origin, RulesOrigin::kStore);
  EXPECT_EQ(rules_, "one");
}

TEST_F(FollowerTest, ANotificationIsFollowedAtOnce) {
  CommitText(store_, "one");
  Follower follower(store_, nullptr, Options(), Hooks());
  follower.Start();
  CommitText(store_, "two");
  EXPECT_TRUE(AwaitRules("two"));
}

TEST_F(FollowerTest, AFloodOfNotificationsCausesAReadInEachIntervalOnly) {
  CommitText(store_, "one");
  std::atomic<int> steps = 0;
  SyncHooks hooks = Hooks();
  hooks.describe_node = [&steps](NodeRecord&) { ++steps; };
  Follower follower(store_, nullptr, Options(), std::move(hooks));
  follower.Start();
  const SteadyTime began = SteadyClock::Now();
  const int before = steps;
  constexpr int kSteps = 5;
  while (steps < before + kSteps && SteadyClock::Now() < began + std::chrono::seconds(20)) {
    follower.Wake();
  }
  EXPECT_GE(steps, before + kSteps);
  // The first follows at once.
  EXPECT_GE(SteadyClock::Now() - began, (kSteps - 1) * Follower::kMinInterval);
}

TEST_F(FollowerTest, StartSeedsAnEmptyStore) {
  SyncOptions options = Options();
  options.seed = "seed";
  Follower follower(store_, nullptr, options, Hooks());
  const SyncStats stats = follower.Start();
  EXPECT_EQ(stats.origin, RulesOrigin::kStore);
  EXPECT_EQ(stats.active.id, (VersionId{.epoch = 1, .number = 1}));
  EXPECT_EQ(rules_, "seed");
}

TEST_F(FollowerTest, StartReturnsWithoutRulesIfThereIsNothing) {
  store_.SetFailure(Error{ErrorCode::kStoreUnavailable, "away"});
  Follower follower(store_, nullptr, Options(), Hooks());
  const SyncStats stats = follower.Start();
  EXPECT_EQ(stats.origin, RulesOrigin::kNone);
  EXPECT_EQ(stats.last_error, "away");
  store_.SetFailure({});
  CommitText(store_, "one");
  EXPECT_TRUE(AwaitRules("one"));
}

TEST_F(FollowerTest, StopRemovesTheNode) {
  CommitText(store_, "one");
  Follower follower(store_, nullptr, Options(), Hooks());
  follower.Start();
  EXPECT_EQ(store_.ListNodes()->size(), 1U);
  follower.Stop();
  EXPECT_TRUE(store_.ListNodes()->empty());
  CommitText(store_, "two");
  follower.Stop();
  EXPECT_EQ(rules_, "one");
}

}  // namespace
}  // namespace sluice::control
