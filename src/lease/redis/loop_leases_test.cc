#include "lease/redis/loop_leases.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"
#include "redis/testing/sentinel_set.h"
#include "redis/url.h"
#include "store/redis/redis_store.h"

namespace sluice::lease {
namespace {

using std::chrono::seconds;
using store::Call;
using store::Operation;
using store::Use;

/// All that a process has, but for the process.
class Node {
 public:
  Node(net::Loop& loop, const redis::Options& options)
      : loop_(loop),
        options_(options),
        service_(redis::MakeService(loop, options_)),
        store_(std::in_place, loop, *service_, store::RedisStoreOptions{.deadline = seconds(10)}),
        leases_(loop, *service_, options_, *store_, node_) {}
  ~Node() {
    service_->Close();
    store_.reset();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool Allows(const Limit& limit, std::int64_t cost = 1) {
    return Run(Operation::kCheck, limit, cost).allowed;
  }
  Call Run(Operation operation, const Limit& limit, std::int64_t cost = 1, bool leased = true) {
    Use use;
    use.key = kKey;
    use.limit = &limit;
    use.cost = cost;
    use.may_lease = leased;
    Call call{.operation = operation, .uses = {&use, 1}};
    bool done = false;
    call.context = &done;
    call.on_done = [](Call& /*call*/, void* context) { *static_cast<bool*>(context) = true; };
    if (leases_.store().Submit(call) == store::Answered::kLater) {
      EXPECT_TRUE(loop_.RunUntil([&] { return done; }, SteadyClock::Now() + seconds(20)));
    }
    EXPECT_TRUE(call.ok);
    return call;
  }
  Local Look(const Limit& limit) { return node_.table.Look(kKey, limit, 1, loop_.Now()).local; }
  [[nodiscard]] TableStats stats() const { return node_.table.StatsApprox(); }
  [[nodiscard]] bool holds_any() const { return node_.table.holds_any(); }

 private:
  static constexpr Key kKey{.scope = "rule:limit", .tag = "hot"};

  net::Loop& loop_;
  const redis::Options options_;
  std::unique_ptr<redis::Service> service_;
  std::optional<store::RedisStore> store_;
  NodeLeases node_;
  LoopLeases leases_;
};

class LoopLeasesTest : public ::testing::Test {
 protected:
  bool RunUntil(const std::function<bool()>& done) {
    return loop_.RunUntil(done, SteadyClock::Now() + seconds(20));
  }
  bool RunUntilListening(int nodes) {
    const std::string heard = std::string(kChannel);
    return RunUntil([&] {
      loop_.Post([] {});
      return server_.Do("PUBSUB NUMSUB " + heard).value().at(1).integer() == nodes;
    });
  }

  /// If it is asked again and again.
  bool AllowsSoon(Node& node, std::int64_t cost) {
    const SteadyTime give_up = SteadyClock::Now() + seconds(20);
    while (SteadyClock::Now() < give_up) {
      if (node.Allows(per_hour_, cost)) return true;
      loop_.RunUntil([] { return false; }, SteadyClock::Now() + std::chrono::milliseconds(10));
    }
    return false;
  }

  const Limit per_hour_ = *Limit::TokenBucket({.capacity = 100, .refill = Rate::PerHour(100)});
  redis::testing::RedisServer server_;
  net::Loop loop_;
};

TEST_F(LoopLeasesTest, WhatIsNotNeededGoesBackAndThenNothingIsSwept) {
  const Limit scarce = *Limit::TokenBucket({.capacity = 1'000, .refill = Rate::PerHour(1)});
  Node node(loop_, server_.ClientOptions());
  EXPECT_TRUE(node.Allows(scarce, 600));  // Less than half is left: what is idle goes back.
  EXPECT_TRUE(node.Allows(scarce));
  EXPECT_TRUE(node.holds_any());
  EXPECT_TRUE(RunUntil([&] { return !node.holds_any(); }));
  EXPECT_EQ(node.stats().outstanding, 0);
}

TEST_F(LoopLeasesTest, WhoLeasesNothingMakesNoConnectionMore) {
  Node node(loop_, server_.ClientOptions());
  node.Run(Operation::kCheck, per_hour_, 1, false);
  EXPECT_EQ(server_.Do("CLIENT LIST TYPE PUBSUB").value().text(), "");
  node.Run(Operation::kCheck, per_hour_);
  EXPECT_TRUE(RunUntilListening(1));
}

TEST_F(LoopLeasesTest, TokensThatAnotherNodeNeedsAreGivenBack) {
  Node one(loop_, server_.ClientOptions());
  Node other(loop_, server_.ClientOptions());
  EXPECT_TRUE(one.Allows(per_hour_));
  ASSERT_GT(one.stats().outstanding, 10);
  ASSERT_TRUE(RunUntilListening(1));
  EXPECT_FALSE(other.Allows(per_hour_, 95));
  EXPECT_TRUE(RunUntil([&] { return one.stats().recalled > 10; }));
  EXPECT_TRUE(AllowsSoon(other, 95));
}

TEST_F(LoopLeasesTest, AResetReachesANodeThatRemembersADenial) {
  const Limit limit = *Limit::TokenBucket({.capacity = 60, .refill = Rate::PerHour(60)});
  Node one(loop_, server_.ClientOptions());
  Node other(loop_, server_.ClientOptions());
  EXPECT_TRUE(one.Allows(limit, 60));
  EXPECT_FALSE(one.Allows(limit));  // And tells the store what it spent.
  EXPECT_FALSE(other.Allows(limit));
  ASSERT_TRUE(RunUntilListening(2));
  while (other.Look(limit) != Local::kDenied) other.Allows(limit);
  one.Run(Operation::kReset, limit, 0);
  EXPECT_TRUE(RunUntil([&] { return other.Look(limit) == Local::kAsk; }));
  EXPECT_TRUE(other.Allows(limit));
}

TEST_F(LoopLeasesTest, WhoMayNotPublishNorSubscribeLeasesAllTheSame) {
  server_.Do("ACL SETUSER quiet on >geheim ~sluice:v1:* resetchannels +@all -publish -subscribe");
  redis::Options options = server_.ClientOptions();
  options.username = "quiet";
  options.password = redis::Secret("geheim");
  Node one(loop_, options);
  Node other(loop_, options);
  EXPECT_TRUE(one.Allows(per_hour_, 100));
  EXPECT_FALSE(one.Allows(per_hour_));
  EXPECT_FALSE(other.Allows(per_hour_));
  one.Run(Operation::kReset, per_hour_, 0);
  EXPECT_TRUE(AllowsSoon(other, 1));
}

TEST_F(LoopLeasesTest, ALostSubscriptionHeals) {
  Node one(loop_, server_.ClientOptions());
  EXPECT_TRUE(one.Allows(per_hour_));
  ASSERT_TRUE(RunUntilListening(1));
  server_.Do("CLIENT KILL TYPE pubsub");
  EXPECT_TRUE(RunUntilListening(1));
}

// Whatever the topology, what one tells is heard by the other.
void ExpectToHear(const std::string& url) {
  const redis::Options options = *redis::ParseUrl(url);
  net::Loop loop;
  const std::unique_ptr<redis::Service> service = redis::MakeService(loop, options);
  Announcer announcer(loop, *service, 1);
  std::vector<std::string> heard;
  const Listener listener(loop, options, [&](std::string_view message) {
    ReadAnnouncement(message, 2, [&](News, const Key& key) { heard.emplace_back(key.tag); });
  });
  const SteadyTime give_up = SteadyClock::Now() + seconds(20);
  while (heard.empty() && SteadyClock::Now() < give_up) {
    announcer.Recall({.scope = "rule:limit", .tag = "hot"});
    loop.RunUntil([&] { return !heard.empty(); },
                  SteadyClock::Now() + std::chrono::milliseconds(100));
  }
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard[0], "hot");
  service->Close();
}

TEST(AnnouncerTest, NodesAtAClusterHearEachOther) {
  const redis::testing::RedisCluster cluster(redis::testing::RedisCluster::Replicas::kNone);
  ExpectToHear(cluster.Url());
}

TEST(AnnouncerTest, NodesBehindSentinelsHearEachOther) {
  const redis::testing::SentinelSet set;
  ExpectToHear(set.Url());
}

TEST(AnnouncerTest, WithAClusterTheNextServerIsAskedIfOneIsNotThere) {
  const redis::testing::RedisCluster cluster(redis::testing::RedisCluster::Replicas::kNone);
  const std::string url = cluster.Url();
  const std::size_t hosts = url.find("://") + 3;
  ExpectToHear(url.substr(0, hosts) + "127.0.0.1:1," + url.substr(hosts));
}

}  // namespace
}  // namespace sluice::lease
