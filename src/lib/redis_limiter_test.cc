#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sluice/sluice.h>

#include "redis/testing/documented_user.h"
#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"
#include "redis/testing/sentinel_set.h"

namespace sluice {
namespace {

using redis::testing::RedisServer;
using ::testing::HasSubstr;

NamedLimit PerDay(std::int64_t limit, FailureMode on_failure = FailureMode::kOpen) {
  return {"per_day", *Limit::FixedWindow({.limit = limit, .anchor = Anchor::kYear}), on_failure};
}

Limiter On(const RedisServer& server, Micros deadline = std::chrono::seconds(10)) {
  return Limiter::OnRedis(
             {.url = "redis://127.0.0.1:" + std::to_string(server.port()), .deadline = deadline})
      .value();
}

TEST(RedisLimiterTest, TwoLimitersOnOneRedisShareALimit) {
  const RedisServer server;
  Limiter one = On(server);
  Limiter other = On(server);
  const NamedLimit limit = PerDay(3);
  EXPECT_TRUE(one.Check(limit, "alice")->allowed);
  EXPECT_TRUE(other.Check(limit, "alice")->allowed);
  EXPECT_TRUE(one.Check(limit, "alice")->allowed);
  EXPECT_FALSE(other.Check(limit, "alice")->allowed);
  EXPECT_TRUE(other.Check(limit, "bob")->allowed);
}

// Whatever is written in one is read in the other.
void ExpectToShare(const std::string& url) {
  const RedisLimiterOptions options{.url = url, .deadline = std::chrono::seconds(10)};
  Limiter one = Limiter::OnRedis(options).value();
  Limiter other = Limiter::OnRedis(options).value();
  const NamedLimit limit = PerDay(2);
  for (const std::string key : {"alice", "bob", "carol", "dave"}) {
    EXPECT_TRUE(one.Check(limit, key)->allowed);
    EXPECT_TRUE(other.Check(limit, key)->allowed);
    EXPECT_FALSE(one.Check(limit, key)->allowed);
  }
}

TEST(RedisLimiterTest, AUrlMayNameACluster) {
  const redis::testing::RedisCluster cluster(redis::testing::RedisCluster::Replicas::kNone);
  ExpectToShare(cluster.Url());
}

TEST(RedisLimiterTest, AUrlMayNameSentinels) {
  const redis::testing::SentinelSet set;
  ExpectToShare(set.Url());
}

TEST(RedisLimiterTest, ThreadsOfSeveralLimitersAdmitExactlyTheLimit) {
  constexpr std::int64_t kLimit = 500;
  constexpr int kThreads = 4;
  const RedisServer server;
  Limiter one = On(server);
  Limiter other = On(server);
  const NamedLimit limit = PerDay(kLimit);
  std::atomic<std::int64_t> admitted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Limiter& mine = i % 2 == 0 ? one : other;
      for (std::int64_t n = 0; n < kLimit; ++n) admitted += mine.Check(limit, "k")->allowed ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, kLimit);
}

TEST(RedisLimiterTest, EveryOperationWorksAsInMemory) {
  const RedisServer server;
  Limiter limiter = On(server);
  const NamedLimit limit = PerDay(10);
  LimitStatus status;
  ASSERT_TRUE(limiter.Check(limit, "a", 4, &status)->allowed);
  EXPECT_EQ(limiter.Peek(limit, "a")->tightest.remaining, 6);
  EXPECT_EQ(limiter.Settle(limit, "a", status.receipt, 7)->remaining, 3);
  EXPECT_EQ(limiter.Charge(limit, "a", 5)->remaining, 0);
  EXPECT_EQ(limiter.Inspect(limit, "a")->level, -2);
  EXPECT_EQ(limiter.Grant(limit, "a", 2)->remaining, 2);
  EXPECT_TRUE(limiter.Reset(limit, "a"));
  EXPECT_FALSE(limiter.Inspect(limit, "a").has_value());

  const NamedLimit slots{"slots", *Limit::Concurrency({.limit = 1})};
  ASSERT_TRUE(limiter.Check(slots, "a", 1, &status)->allowed);
  EXPECT_FALSE(limiter.Check(slots, "a")->allowed);
  EXPECT_TRUE(limiter.Renew(slots, "a", status.receipt.slot));
  EXPECT_TRUE(limiter.Release(slots, "a", status.receipt.slot));
  EXPECT_FALSE(limiter.Release(slots, "a", status.receipt.slot));

  const NamedLimit few{"few", *Limit::FixedWindow({.limit = 1, .anchor = Anchor::kYear})};
  const std::vector<LimitUse> uses{{.limit = &limit, .key = "b"}, {.limit = &few, .key = "b"}};
  EXPECT_TRUE(limiter.CheckAll(uses)->allowed);
  EXPECT_FALSE(limiter.CheckAll(uses)->allowed);
  EXPECT_EQ(limiter.Peek(limit, "b")->tightest.remaining, 9);

  std::vector<Decision> decisions(uses.size());
  EXPECT_EQ(*limiter.CheckBatch(uses, decisions), 1U);
  EXPECT_FALSE(limiter.ForEachKey([](const KeyInfo&) { return true; }));
}

TEST(RedisLimiterTest, WithoutRedisTheFailureModeDecidesUntilItReconnects) {
  RedisServer server;
  Limiter limiter = On(server, std::chrono::milliseconds(50));
  server.Kill();
  const auto open = limiter.Check(PerDay(1), "a");
  EXPECT_TRUE(open->allowed);
  EXPECT_TRUE(open->degraded);
  const auto closed = limiter.Check(PerDay(1, FailureMode::kClosed), "a");
  EXPECT_FALSE(closed->allowed);
  EXPECT_TRUE(closed->degraded);
  server.Start();
  std::int64_t tries = 1;
  Decision decision = *limiter.Check(PerDay(1000), "a");
  for (; decision.degraded; ++tries) decision = *limiter.Check(PerDay(1000), "a");
  // A try that was not answered in time may have been counted.
  EXPECT_LE(decision.tightest.remaining, 999);
  EXPECT_GE(decision.tightest.remaining, 1000 - tries);
}

TEST(RedisLimiterTest, TheDocumentedUserMayDoEverythingOverTls) {
  const RedisServer server({.config = {"tls-auth-clients no"}, .tls = true});
  const std::string password_file = (server.folder() / "password").string();
  std::ofstream(password_file) << "a-long-one\n";
  server.Do("ACL SETUSER sluice" +
            redis::testing::Join(redis::testing::DocumentedUser("a-long-one")));
  Limiter limiter =
      Limiter::OnRedis({.url = "rediss://sluice@127.0.0.1:" + std::to_string(server.port()) +
                               "?ca_file=" + server.certificates().ca_file +
                               "&password_file=" + password_file,
                        .deadline = std::chrono::seconds(10)})
          .value();
  const std::vector<NamedLimit> limits = {
      {"bucket", *Limit::TokenBucket({.capacity = 10, .refill = Rate::PerDay(1)})},
      {"leaky", *Limit::LeakyBucket({.capacity = 10, .leak = Rate::PerDay(1)})},
      {"window", *Limit::FixedWindow({.limit = 10, .anchor = Anchor::kYear})},
      {"counter", *Limit::SlidingWindowCounter({.limit = 10, .window = kMaxWindow})},
      {"log", *Limit::SlidingWindowLog({.limit = 10, .window = kMaxWindow})}};
  for (const NamedLimit& limit : limits) {
    SCOPED_TRACE(limit.name);
    LimitStatus status;
    const Decision decision = *limiter.Check(limit, "a", 4, &status);
    ASSERT_TRUE(decision.allowed);
    EXPECT_FALSE(decision.degraded);
    EXPECT_EQ(limiter.Settle(limit, "a", status.receipt, 7)->remaining, 3);
    EXPECT_EQ(limiter.Peek(limit, "a")->tightest.remaining, 3);
    EXPECT_EQ(limiter.Charge(limit, "a", 5)->remaining, 0);
    EXPECT_EQ(limiter.Inspect(limit, "a")->level, -2);
    EXPECT_EQ(limiter.Grant(limit, "a", 2)->remaining, 2);
    EXPECT_TRUE(limiter.Reset(limit, "a"));
  }
  const NamedLimit slots{"slots", *Limit::Concurrency({.limit = 2})};
  LimitStatus status;
  EXPECT_FALSE(limiter.Check(slots, "a", 1, &status)->degraded);
  EXPECT_TRUE(limiter.Renew(slots, "a", status.receipt.slot));
  EXPECT_TRUE(limiter.Release(slots, "a", status.receipt.slot));
}

TEST(RedisLimiterTest, AnInvalidUrlIsRejectedWithoutItsPassword) {
  const auto limiter = Limiter::OnRedis({.url = "http://user:geheim@host"});
  ASSERT_FALSE(limiter.ok());
  EXPECT_EQ(limiter.error().code, ErrorCode::kInvalidOptions);
  EXPECT_THAT(limiter.error().message, ::testing::Not(HasSubstr("geheim")));
}

}  // namespace
}  // namespace sluice
