// Rules that lease, by programs that use the library.

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/sluice.h>

#include "redis/testing/await.h"
#include "redis/testing/redis_server.h"

namespace sluice {
namespace {

using redis::testing::Await;
using redis::testing::RedisServer;

constexpr std::int64_t kCapacity = 2'000;

// It does not refill while a test runs.
Rules Leased(const std::string& more = {}) {
  return Rules::FromText("rules: [{ id: api, capacity: 2000, refill_rate: 1 per day, " + more +
                         " consistency: leased }]")
      .value();
}

class LeasedLimiterTest : public ::testing::Test {
 protected:
  Limiter Make(Micros deadline = std::chrono::seconds(10)) const {
    return Limiter::OnRedis(
               {.url = "redis://127.0.0.1:" + std::to_string(server_.port()), .deadline = deadline})
        .value();
  }
  static RuleDecision Check(Limiter& limiter, Rules& rules,
                            std::vector<RuleStatus>* statuses = nullptr) {
    const Attribute attributes[] = {{"api_key", "alice"}};
    return limiter.Check(rules, attributes, 1, statuses).value();
  }
  /// How often the script was called so far.
  std::int64_t Calls() const {
    const resp::Reply reply = server_.Do("INFO commandstats");
    const std::string_view text = reply.value().text();
    constexpr std::string_view kBegin = "cmdstat_evalsha:calls=";
    const std::size_t found = text.find(kBegin);
    if (found == std::string_view::npos) return 0;
    return std::stoll(std::string(text.substr(found + kBegin.size(), 20)));
  }

  RedisServer server_;
};

TEST_F(LeasedLimiterTest, ThreadsOfTwoProgramsSpendFromMemoryAndTogetherTheLimit) {
  constexpr int kThreads = 4;
  Limiter limiters[] = {Make(), Make()};
  Rules rules = Leased();
  std::atomic<std::int64_t> admitted{0};
  std::atomic<std::int64_t> checks{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::int64_t n = 0; n < kCapacity; ++n) {
        ++checks;
        if (Check(limiters[i % 2], rules).allowed) ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(admitted, kCapacity);
  EXPECT_LT(Calls(), checks / 5);
  // What one of them held and does not need comes back to the other. What could not be given back
  // in time, because the machine was busy, is lost.
  Await("nearly all is spent", [&] {
    for (Limiter& limiter : limiters) admitted += Check(limiter, rules).allowed ? 1 : 0;
    return admitted > kCapacity * 9 / 10;
  });
  for (int i = 0; i < kCapacity / 5; ++i) {
    for (Limiter& limiter : limiters) admitted += Check(limiter, rules).allowed ? 1 : 0;
  }
  EXPECT_LE(admitted, kCapacity);
}

TEST_F(LeasedLimiterTest, ARefundThroughOneLetsTheOtherPass) {
  Limiter one = Make();
  Limiter other = Make();
  Rules rules = Leased();
  std::vector<RuleStatus> taken;
  ASSERT_TRUE(Check(one, rules, &taken).allowed);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(taken[0].is_leased);
  for (std::int64_t i = 0; i < kCapacity; ++i) Check(one, rules);
  Await("all is spent", [&] { return !Check(one, rules).allowed && !Check(other, rules).allowed; });
  EXPECT_TRUE(one.Refund(taken[0]).ok());
  Await("the other passes", [&] { return Check(other, rules).allowed; });
}

TEST_F(LeasedLimiterTest, AProgramThatEndsGivesItsTokensBack) {
  Rules rules = Leased();
  std::int64_t admitted = 0;
  {
    Limiter one = Make();
    for (int i = 0; i < 100; ++i) admitted += Check(one, rules).allowed ? 1 : 0;
  }
  EXPECT_EQ(admitted, 100);
  // All that is left can be had at once: nothing waits for the end of a lease.
  Limiter other = Make();
  const Attribute attributes[] = {{"api_key", "alice"}};
  EXPECT_TRUE(other.Check(rules, attributes, kCapacity - 100)->allowed);
}

TEST_F(LeasedLimiterTest, WithoutRedisALocalRuleContinuesFromTheLastKnownState) {
  Limiter limiter = Make(std::chrono::seconds(1));
  Rules rules = Leased("on_store_failure: local,");
  std::int64_t admitted = 0;
  for (std::int64_t i = 0; i < kCapacity - 100; ++i) {
    admitted += Check(limiter, rules).allowed ? 1 : 0;
  }
  server_.Kill();
  bool degraded = false;
  for (int i = 0; i < 300; ++i) {
    const RuleDecision decision = Check(limiter, rules);
    admitted += decision.allowed ? 1 : 0;
    degraded = degraded || decision.degraded;
  }
  EXPECT_TRUE(degraded);
  EXPECT_LE(admitted, kCapacity);
  EXPECT_GT(admitted, kCapacity - 100);
}

TEST_F(LeasedLimiterTest, WithoutRedisTimeGoesOnForALocalRule) {
  Limiter limiter = Make(std::chrono::milliseconds(50));
  server_.Kill();
  Rules rules =
      Rules::FromText("rules: [{ id: api, limit: 2/s, on_store_failure: local }]").value();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Check(limiter, rules).allowed);
  Await("it has refilled", [&] { return Check(limiter, rules).allowed; });
}

}  // namespace
}  // namespace sluice
