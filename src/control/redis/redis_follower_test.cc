// Nodes at a real Redis: propagation, and a store that loses everything while nodes commit and
// follow.

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "control/follower.h"
#include "control/redis/redis_control_store.h"
#include "control/testing/conformance.h"
#include "redis/testing/await.h"
#include "redis/testing/redis_server.h"

namespace sluice::control {
namespace {

using redis::testing::Await;
using redis::testing::RedisServer;
using testing::CommitText;
using testing::FindHistoryProblem;
using testing::NextVersion;

class FleetNode {
 public:
  FleetNode(const redis::Options& options, const std::string& id,
            std::optional<std::string> seed = {}, Micros interval = std::chrono::seconds(1))
      : store({.redis = options, .name = "f"}),
        follower(store, nullptr,
                 {.node = {.id = id}, .seed = std::move(seed), .interval = interval},
                 {.activate = [this](const Version& version) {
                   const std::lock_guard lock(mutex_);
                   rules_ = version.text;
                   return LoadReport{.activated = true};
                 }}) {}

  [[nodiscard]] std::string rules() {
    const std::lock_guard lock(mutex_);
    return rules_;
  }

 private:
  std::mutex mutex_;
  std::string rules_;

 public:
  RedisControlStore store;
  Follower follower;
};

class RedisFollowerTest : public ::testing::Test {
 protected:
  FleetNode& Add(std::optional<std::string> seed = {}, Micros interval = std::chrono::seconds(1)) {
    FleetNode& node = nodes_.emplace_back(server_.ClientOptions(), std::to_string(nodes_.size()),
                                          std::move(seed), interval);
    node.follower.Start();
    return node;
  }
  void AwaitAll(const std::string& text) {
    for (FleetNode& node : nodes_) {
      Await("'" + text + "' is active", [&] { return node.rules() == text; });
    }
  }

  RedisServer server_;
  std::deque<FleetNode> nodes_;
};

TEST_F(RedisFollowerTest, ACommitReachesAllNodesByNotification) {
  RedisControlStore editor({.redis = server_.ClientOptions(), .name = "f"});
  CommitText(editor, "one");
  // So rarely that only notifications can be the reason.
  for (int i = 0; i < 3; ++i) Add({}, std::chrono::hours(1));
  AwaitAll("one");
  // A subscription is complete once it has been heard.
  for (int i = 0; i < 20; ++i) CommitText(editor, "version " + std::to_string(i));
  Await("subscriptions", [&] {
    return server_.Do("PUBSUB NUMSUB sluice:v1:control:{f}").value().at(1).integer() == 3;
  });
  CommitText(editor, "last");
  AwaitAll("last");
  Await("records", [&] {
    const auto nodes = editor.ListNodes();
    const auto current = editor.ReadCurrent();
    return std::ranges::count(*nodes, **current, &NodeRecord::active) == 3;
  });
}

TEST_F(RedisFollowerTest, ACommitReachesAllNodesWithoutNotifications) {
  server_.Do("ACL SETUSER default -subscribe -publish");
  RedisControlStore editor({.redis = server_.ClientOptions(), .name = "f"});
  CommitText(editor, "one");
  for (int i = 0; i < 3; ++i) Add();
  CommitText(editor, "two");
  AwaitAll("two");
}

// Editors commit on what they read while Redis is flushed: nodes are never without rules, the
// history stays linear, and all end with the same version.
TEST_F(RedisFollowerTest, AFlushUnderLoadNeitherLosesTheRulesNorBreaksTheHistory) {
  Add("seed");
  for (int i = 0; i < 3; ++i) Add();
  AwaitAll("seed");
  std::atomic<bool> stop = false;
  std::atomic<int> commits = 0;
  std::atomic<int> without_rules = 0;
  std::thread editor([&] {
    RedisControlStore store({.redis = server_.ClientOptions(), .name = "f"});
    while (!stop) {
      const auto current = store.ReadCurrent();
      // An editor does not fill an empty store.
      if (current && *current) {
        const auto result = store.Commit(NextVersion(*current, "edit " + std::to_string(commits)),
                                         *current, {.action = "rules.commit"});
        if (result && result->committed) ++commits;
      }
      for (FleetNode& node : nodes_) without_rules += node.rules().empty() ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  for (int flush = 0; flush < 2; ++flush) {
    const int before = commits;
    Await("commits", [&] { return commits > before + 5; });
    server_.Do("FLUSHALL");
    Await("restored", [&] {
      const auto current = nodes_[0].store.ReadCurrent();
      return current && *current && (*current)->id.epoch == static_cast<std::uint64_t>(flush + 2);
    });
  }
  stop = true;
  editor.join();
  EXPECT_EQ(without_rules, 0);
  const VersionRef current = **nodes_[0].store.ReadCurrent();
  for (FleetNode& node : nodes_) {
    Await("the current version", [&] { return node.follower.Stats().active == current; });
    EXPECT_EQ(node.rules(), nodes_[0].rules());
  }
  EXPECT_EQ(FindHistoryProblem(nodes_[0].store), "");
}

TEST_F(RedisFollowerTest, NodesGoOnWhileRedisIsKilledAndRestoreTheirRulesAfterwards) {
  Add("seed");
  Add();
  AwaitAll("seed");
  server_.Kill();
  for (FleetNode& node : nodes_) {
    Await("failures are counted", [&] { return node.follower.Stats().consecutive_failures >= 3; });
    EXPECT_EQ(node.rules(), "seed");
  }
  server_.Start();  // Without what was in it.
  Await("restored", [&] {
    const auto current = nodes_[0].store.ReadCurrent();
    return current && *current && (*current)->id.epoch == 2;
  });
  for (FleetNode& node : nodes_) {
    Await("up", [&] { return node.follower.Stats().active.id.epoch == 2; });
    EXPECT_EQ(node.rules(), "seed");
  }
}

}  // namespace
}  // namespace sluice::control
