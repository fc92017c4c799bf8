#include "lease/redis/redis_path.h"

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
#include "redis/testing/tcp_proxy.h"
#include "redis/url.h"
#include "store/redis/redis_store.h"

namespace sluice::lease {
namespace {

using std::chrono::seconds;
using store::KeyUse;
using store::Operation;
using store::StoreCall;

/// All that a process has, but for the process.
class Node {
 public:
  Node(net::Loop& loop, const redis::Options& options)
      : loop_(loop), options_(options), path_(loop, options_, node_, {.deadline = seconds(10)}) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool Allows(const Limit& limit, std::int64_t cost = 1) {
    return Run(Operation::kCheck, limit, cost).allowed;
  }
  StoreCall Run(Operation operation, const Limit& limit, std::int64_t cost = 1,
                bool leased = true) {
    KeyUse use;
    use.key = kKey;
    use.limit = &limit;
    use.cost = cost;
    use.may_lease = leased;
    StoreCall call{.operation = operation, .uses = {&use, 1}};
    bool done = false;
    call.context = &done;
    call.on_done = [](StoreCall& /*call*/, void* context) { *static_cast<bool*>(context) = true; };
    if (path_.store().Submit(call) == store::Completion::kLater) {
      EXPECT_TRUE(loop_.RunUntil([&] { return done; }, SteadyClock::Now() + seconds(20)));
    }
    EXPECT_TRUE(call.ok);
    return call;
  }
  /// What becomes of a check whose caller waits for so long at most.
  StoreCall RunWithin(Micros timeout, const Limit& limit) {
    KeyUse use;
    use.key = kKey;
    use.limit = &limit;
    StoreCall call{.operation = Operation::kCheck, .uses = {&use, 1}, .timeout = timeout};
    bool done = false;
    call.context = &done;
    call.on_done = [](StoreCall& /*call*/, void* context) { *static_cast<bool*>(context) = true; };
    if (path_.store().Submit(call) == store::Completion::kLater) {
      EXPECT_TRUE(loop_.RunUntil([&] { return done; }, SteadyClock::Now() + seconds(20)));
    }
    return call;
  }
  bool Remembers(const Limit& limit) {
    return node_.denials.Find(kKey, limit, 1, [] { return SteadyClock::Now(); }).is_denied();
  }
  [[nodiscard]] std::uint64_t remembered_denials() const { return node_.denials.answers(); }
  [[nodiscard]] redis::Stats redis_stats() const { return path_.RedisStatsApprox(); }
  LeaseDecision Peek(const Limit& limit) {
    return node_.table.Peek(kKey, limit, 1, loop_.Now()).decision;
  }
  [[nodiscard]] TableStats stats() const { return node_.table.StatsApprox(); }
  [[nodiscard]] bool holds_any() const { return node_.table.holds_any(); }

 private:
  static constexpr Key kKey{.scope = "rule:limit", .tag = "hot"};

  net::Loop& loop_;
  const redis::Options options_;
  NodeLeases node_{TableOptions{.calls_before_lease = 0}};
  RedisPath path_;
};

class RedisPathTest : public ::testing::Test {
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

TEST_F(RedisPathTest, IdleTokensAreReturnedAndThenSweepingStops) {
  const Limit scarce = *Limit::TokenBucket({.capacity = 1'000, .refill = Rate::PerHour(1)});
  Node node(loop_, server_.ClientOptions());
  EXPECT_TRUE(node.Allows(scarce, 600));  // Less than half is left: what is idle goes back.
  EXPECT_TRUE(node.Allows(scarce));
  EXPECT_TRUE(node.holds_any());
  EXPECT_TRUE(RunUntil([&] { return !node.holds_any(); }));
  EXPECT_EQ(node.stats().outstanding, 0);
}

TEST_F(RedisPathTest, WithoutLeasesAndDenialsThereIsNoSubscription) {
  Node node(loop_, server_.ClientOptions());
  node.Run(Operation::kCheck, per_hour_, 1, false);
  EXPECT_EQ(server_.Do("CLIENT LIST TYPE PUBSUB").value().text(), "");
  node.Run(Operation::kCheck, per_hour_);
  EXPECT_TRUE(RunUntilListening(1));
}

TEST_F(RedisPathTest, TokensThatAnotherNodeNeedsAreReturned) {
  Node one(loop_, server_.ClientOptions());
  Node other(loop_, server_.ClientOptions());
  EXPECT_TRUE(one.Allows(per_hour_));
  ASSERT_GT(one.stats().outstanding, 10);
  ASSERT_TRUE(RunUntilListening(1));
  EXPECT_FALSE(other.Allows(per_hour_, 95));
  EXPECT_TRUE(RunUntil([&] { return one.stats().recalled > 10; }));
  EXPECT_TRUE(AllowsSoon(other, 95));
}

TEST_F(RedisPathTest, AResetReachesANodeThatRemembersADenial) {
  const Limit limit = *Limit::TokenBucket({.capacity = 60, .refill = Rate::PerHour(60)});
  Node one(loop_, server_.ClientOptions());
  Node other(loop_, server_.ClientOptions());
  EXPECT_TRUE(one.Allows(limit, 60));
  EXPECT_FALSE(one.Allows(limit));  // And tells the store what it spent.
  EXPECT_FALSE(other.Allows(limit));
  ASSERT_TRUE(RunUntilListening(2));
  while (other.Peek(limit) != LeaseDecision::kDenied) other.Allows(limit);
  one.Run(Operation::kReset, limit, 0);
  EXPECT_TRUE(RunUntil([&] { return other.Peek(limit) == LeaseDecision::kNeedsLease; }));
  EXPECT_TRUE(other.Allows(limit));
}

TEST_F(RedisPathTest, ChangesReachNodesThatRememberDenialsOfLimitsThatDoNotLease) {
  const Limit limit = *Limit::FixedWindow({.limit = 5, .window = std::chrono::hours(24 * 30)});
  Node one(loop_, server_.ClientOptions());
  Node other(loop_, server_.ClientOptions());
  EXPECT_TRUE(one.Run(Operation::kCheck, limit, 5, false).allowed);
  for (Node* node : {&one, &other}) {
    EXPECT_FALSE(node->Run(Operation::kCheck, limit, 1, false).allowed);
    EXPECT_TRUE(node->Remembers(limit));
  }
  ASSERT_TRUE(RunUntilListening(2));
  for (const Operation operation : {Operation::kReset, Operation::kGrant}) {
    one.Run(operation, limit, operation == Operation::kGrant ? 5 : 0, false);
    EXPECT_FALSE(one.Remembers(limit));
    EXPECT_TRUE(RunUntil([&] { return !other.Remembers(limit); }));
    EXPECT_TRUE(other.Run(Operation::kCheck, limit, 5, false).allowed);
    EXPECT_FALSE(other.Run(Operation::kCheck, limit, 1, false).allowed);
    EXPECT_FALSE(one.Run(Operation::kCheck, limit, 1, false).allowed);
  }
}

TEST_F(RedisPathTest, AKeyThatIsDeletedByHandIsFreeWithinASecond) {
  const Limit limit = *Limit::FixedWindow({.limit = 5, .window = std::chrono::hours(24 * 30)});
  Node node(loop_, server_.ClientOptions());
  EXPECT_TRUE(node.Run(Operation::kCheck, limit, 5, false).allowed);
  while (node.remembered_denials() < 3) node.Run(Operation::kCheck, limit, 1, false);
  server_.Do("FLUSHALL");
  EXPECT_TRUE(RunUntil([&] {
    loop_.Post([] {});
    return node.RunWithin(seconds(1), limit).allowed;
  }));
}

TEST_F(RedisPathTest, NothingPassesOnceADenialIsKnownHoweverShortTheTimeouts) {
  redis::testing::TcpProxy proxy(server_.port());
  redis::Options options = server_.ClientOptions();
  options.port = proxy.port();
  options.breaker.enabled = true;
  const Limit limit = *Limit::TokenBucket({.capacity = 5, .refill = Rate::PerMinute(5)});
  Node node(loop_, options);
  node.Run(Operation::kCheck, limit, 1, false);
  proxy.SetDelay(std::chrono::milliseconds(25));
  // Redis never answers in time, but what it says is heard.
  ASSERT_TRUE(RunUntil([&] {
    loop_.Post([] {});
    node.RunWithin(std::chrono::milliseconds(10), limit);
    return node.Remembers(limit);
  }));
  for (int i = 0; i < 30; ++i) {
    const StoreCall call = node.RunWithin(std::chrono::milliseconds(10), limit);
    EXPECT_TRUE(call.ok) << i;
    EXPECT_FALSE(call.allowed) << i;
  }
  proxy.SwallowAll();
  for (int i = 0; i < 30; ++i) {
    const StoreCall call = node.RunWithin(std::chrono::milliseconds(10), limit);
    EXPECT_TRUE(call.ok && !call.allowed) << i;
  }
  EXPECT_EQ(node.redis_stats().breaker_opened, 0U);
}

TEST_F(RedisPathTest, LeasesWorkWithoutPermissionToPublishOrSubscribe) {
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

TEST_F(RedisPathTest, ALostSubscriptionIsRestored) {
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
  const redis::Subscription listener(
      loop, options, {std::string(kChannel)},
      {.on_message = [&](std::string_view, std::string_view message) {
        ReadAnnouncement(message, 2,
                         [&](AnnouncementKind, const Key& key) { heard.emplace_back(key.tag); });
      }});
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

TEST(AnnouncerTest, NodesAtAClusterReceiveEachOthersAnnouncements) {
  const redis::testing::RedisCluster cluster(redis::testing::RedisCluster::Replicas::kNone);
  ExpectToHear(cluster.Url());
}

TEST(AnnouncerTest, NodesBehindSentinelsReceiveEachOthersAnnouncements) {
  const redis::testing::SentinelSet set;
  ExpectToHear(set.Url());
}

TEST(AnnouncerTest, WithAClusterTheNextServerIsUsedIfOneIsUnreachable) {
  const redis::testing::RedisCluster cluster(redis::testing::RedisCluster::Replicas::kNone);
  const std::string url = cluster.Url();
  const std::size_t hosts = url.find("://") + 3;
  ExpectToHear(url.substr(0, hosts) + "127.0.0.1:1," + url.substr(hosts));
}

}  // namespace
}  // namespace sluice::lease
