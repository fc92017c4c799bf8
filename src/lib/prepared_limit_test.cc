// Checks with prepared limits: the same decisions, verdicts and receipts as the general path.

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/limiter.h>

#include "base/fake_clock.h"

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kNoon{seconds(1'900'000'020)};

static_assert(std::is_trivially_copyable_v<CheckResult>);

NamedLimit TenTokens(std::int64_t capacity = 10) {
  return {"bucket", *Limit::TokenBucket({.capacity = capacity, .refill = Rate::PerSecond(1)})};
}

std::vector<NamedLimit> Limits() {
  return {
      TenTokens(),
      {"slow", *Limit::TokenBucket({.capacity = 7, .refill = Rate::Per(3, minutes(7))})},
      {"steps",
       *Limit::TokenBucket(
           {.capacity = 5, .refill = Rate::PerSecond(2), .refill_interval = milliseconds(500)})},
      {"leaky", *Limit::LeakyBucket({.capacity = 4, .leak = Rate::PerSecond(3)})},
      {"window", *Limit::FixedWindow({.limit = 6, .window = seconds(10)})},
      {"counter", *Limit::SlidingWindowCounter({.limit = 6, .window = seconds(10)})},
      {"log", *Limit::SlidingWindowLog({.limit = 6, .window = seconds(10)})},
  };
}

class PreparedLimitTest : public testing::Test {
 protected:
  FakeClock clock_{kNoon};
  Limiter limiter_ = Limiter::InMemory({.max_keys = 10'000, .clock = &clock_}).value();
};

TEST_F(PreparedLimitTest, CallsPassUntilTheLimitIsReached) {
  const PreparedLimit limit = limiter_.Prepare(TenTokens());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter_.Check(limit, "k").allowed()) << i;
  const CheckResult denied = limiter_.Check(limit, "k");
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.verdict().outcome, Outcome::kDenied);
  EXPECT_EQ(denied.verdict().retry_after, seconds(1));
  EXPECT_EQ(denied.receipt(), Receipt{});
}

TEST_F(PreparedLimitTest, EveryCheckReportsWhatTheGeneralPathWould) {
  // CheckAll submits a call to the store, which knows nothing of prepared limits.
  Limiter other = Limiter::InMemory({.max_keys = 10'000, .clock = &clock_}).value();
  std::mt19937_64 random(7);
  for (const NamedLimit& named : Limits()) {
    const PreparedLimit prepared = limiter_.Prepare(named);
    for (int i = 0; i < 3000; ++i) {
      // Forwards, sometimes a little backwards.
      clock_.Set(clock_.Now() + Micros{static_cast<std::int64_t>(random() % 900'000) - 1000});
      const std::string key = std::to_string(random() % 5);
      const auto cost = static_cast<std::int64_t>(random() % 9);
      const LimitUse use{.limit = &named, .key = key, .cost = cost};
      LimitStatus status;
      const auto expected = other.CheckAll({&use, 1}, {&status, 1});
      const CheckResult result = limiter_.Check(prepared, key, cost);
      ASSERT_TRUE(result.ok());
      ASSERT_EQ(result.allowed(), expected->allowed) << named.name << " " << i;
      ASSERT_EQ(result.verdict(), expected->tightest) << named.name << " " << i;
      ASSERT_EQ(result.receipt(), status.receipt) << named.name << " " << i;
    }
  }
}

TEST_F(PreparedLimitTest, TheSameBudgetAsWithoutPreparation) {
  const NamedLimit named = TenTokens();
  const PreparedLimit prepared = limiter_.Prepare(named);
  for (const char* const text :
       {"k", "a key of sixteen", "a key that is longer than a block", ""}) {
    const std::string key = text;
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(limiter_.Check(prepared, key).allowed());
      EXPECT_TRUE(limiter_.Check(named, key)->allowed);
    }
    EXPECT_FALSE(limiter_.Check(prepared, key).allowed()) << text;
    EXPECT_FALSE(limiter_.Check(named, key)->allowed) << text;
  }
}

TEST_F(PreparedLimitTest, ABatchDecidesAsOneByOneWould) {
  const PreparedLimit limit = limiter_.Prepare(TenTokens(3));
  std::vector<std::string> texts;
  for (int i = 0; i < 50; ++i) texts.push_back(std::to_string(i % 7));
  const std::vector<std::string_view> keys(texts.begin(), texts.end());
  std::vector<CheckResult> results(keys.size());
  EXPECT_EQ(*limiter_.CheckBatch(limit, keys, results), 21U);

  Limiter one_by_one = Limiter::InMemory({.clock = &clock_}).value();
  const PreparedLimit same = one_by_one.Prepare(TenTokens(3));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const CheckResult expected = one_by_one.Check(same, keys[i]);
    EXPECT_EQ(results[i].allowed(), expected.allowed()) << i;
    EXPECT_EQ(results[i].verdict(), expected.verdict()) << i;
  }
}

TEST_F(PreparedLimitTest, AnInvalidKeyOfABatchIsMarkedAndTheOthersAreDecided) {
  const PreparedLimit limit = limiter_.Prepare(TenTokens());
  const std::string too_long(kMaxKeyBytes + 1, 'x');
  const std::vector<std::string_view> keys{"a", too_long, "b"};
  std::vector<CheckResult> results(keys.size());
  EXPECT_EQ(*limiter_.CheckBatch(limit, keys, results), 2U);
  EXPECT_TRUE(results[0].allowed());
  EXPECT_FALSE(results[1].ok());
  EXPECT_EQ(results[1].error(), ErrorCode::kInvalidKey);
  EXPECT_TRUE(results[2].allowed());
}

TEST_F(PreparedLimitTest, ABatchNeedsAResultForEachKey) {
  const PreparedLimit limit = limiter_.Prepare(TenTokens());
  const std::vector<std::string_view> keys{"a", "b"};
  std::vector<CheckResult> results(1);
  EXPECT_EQ(limiter_.CheckBatch(limit, keys, results).error().code, ErrorCode::kInvalidOptions);
}

TEST_F(PreparedLimitTest, InvalidCallsAreRefused) {
  const PreparedLimit limit = limiter_.Prepare(TenTokens());
  EXPECT_EQ(limiter_.Check(limit, "k", -1).error(), ErrorCode::kInvalidCost);
  const std::string too_long(kMaxKeyBytes + 1, 'x');
  EXPECT_EQ(limiter_.Check(limit, too_long).error(), ErrorCode::kInvalidKey);
  EXPECT_FALSE(limiter_.Check(limit, "k", -1).allowed());
  EXPECT_FALSE(CheckResult().ok());
  EXPECT_EQ(CheckResult().verdict(), Verdict{});
}

TEST_F(PreparedLimitTest, ACostAboveTheCapNeverFits) {
  const PreparedLimit limit = limiter_.Prepare(TenTokens());
  EXPECT_TRUE(limiter_.Check(limit, "k").allowed());
  const CheckResult result = limiter_.Check(limit, "k", 11);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.verdict().outcome, Outcome::kNeverFits);
}

TEST_F(PreparedLimitTest, AnotherLimiterAcceptsThePreparedLimit) {
  const PreparedLimit limit = limiter_.Prepare(TenTokens());
  Limiter other = Limiter::InMemory({.clock = &clock_}).value();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(other.Check(limit, "k").allowed()) << i;
  EXPECT_FALSE(other.Check(limit, "k").allowed());
  EXPECT_FALSE(other.Check(TenTokens(), "k")->allowed) << "the same budget there";
  EXPECT_TRUE(limiter_.Check(limit, "k").allowed()) << "its own limiter has its own budgets";
}

TEST_F(PreparedLimitTest, GrantsAndChangedNumbersApply) {
  const PreparedLimit limit = limiter_.Prepare(TenTokens());
  EXPECT_TRUE(limiter_.Check(limit, "k", 10).allowed());
  ASSERT_TRUE(limiter_.Grant(TenTokens(), "k", 3));
  EXPECT_EQ(limiter_.Check(limit, "k", 2).receipt().from_grant, 2);
  const PreparedLimit larger = limiter_.Prepare(TenTokens(20));
  clock_.Set(clock_.Now() + hours(1));
  EXPECT_TRUE(limiter_.Check(larger, "k", 20).allowed());
}

TEST_F(PreparedLimitTest, AFullLimiterDegradesByTheFailureMode) {
  Limiter small = Limiter::InMemory({.max_keys = 1, .clock = &clock_}).value();
  NamedLimit closed = TenTokens();
  closed.on_failure = FailureMode::kClosed;
  const PreparedLimit limit = small.Prepare(closed);
  EXPECT_TRUE(small.Check(limit, "a").allowed());
  const CheckResult refused = small.Check(limit, "b");
  EXPECT_TRUE(refused.ok());
  EXPECT_TRUE(refused.degraded());
  EXPECT_FALSE(refused.allowed());
}

TEST_F(PreparedLimitTest, ThreadsTogetherAdmitExactlyTheLimit) {
  constexpr std::int64_t kCapacity = 10'000;
  const PreparedLimit limit = limiter_.Prepare(
      {"many", *Limit::TokenBucket({.capacity = kCapacity, .refill = Rate::PerHour(1)})});
  std::vector<std::int64_t> allowed(4);
  std::vector<std::thread> threads;
  for (std::int64_t& mine : allowed) {
    threads.emplace_back([&] {
      std::vector<CheckResult> results(16);
      const std::vector<std::string_view> keys(16, "k");
      for (int i = 0; i < 300; ++i) {
        mine += static_cast<std::int64_t>(*limiter_.CheckBatch(limit, keys, results));
        for (int j = 0; j < 4; ++j) mine += limiter_.Check(limit, "k").allowed() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed[0] + allowed[1] + allowed[2] + allowed[3], kCapacity);
}

}  // namespace
}  // namespace sluice
