#include "lease/lease_table.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "algo/lease.h"
#include "algo/state.h"

namespace sluice::lease {
namespace {

using algo::lease::Grant;
using algo::lease::Request;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kNow{std::chrono::hours(5)};

Limit Bucket(std::int64_t capacity) {
  return *Limit::TokenBucket({.capacity = capacity, .refill = Rate::PerSecond(capacity)});
}

Key KeyOf(const std::string& tag) { return {.scope = "rule:limit", .tag = tag}; }

Grant Plain(std::int64_t tokens, Micros good_for = seconds(10)) {
  Grant grant;
  grant.tokens = tokens;
  grant.schedule.ready = tokens;
  grant.id = {.generation = 1, .expires = WallTime{seconds(1'000)}};
  grant.good_for = good_for;
  return grant;
}

class LeaseTableTest : public ::testing::Test {
 protected:
  /// Asks, and is granted `grant` a millisecond later.
  void Fetch(const Grant& grant, SteadyTime now = kNow) {
    const Request request = table_.MakeRequest(key_, limit_, 1, 1, now);
    table_.Granted(key_, limit_, request, now, now + milliseconds(1), grant);
  }
  LeaseDecision Spend(SteadyTime now, std::int64_t cost = 1) {
    return table_.Spend(key_, limit_, cost, now).decision;
  }

  Limit limit_ = Bucket(1'000);
  std::string name_ = "alice";
  Key key_ = KeyOf(name_);
  denial::DenialTable denials_;
  LeaseTable table_{TableOptions{.max_keys = 64, .calls_before_lease = 0}, denials_};
};

TEST_F(LeaseTableTest, SpendsItsTokensAndThenRequestsMore) {
  EXPECT_EQ(Spend(kNow), LeaseDecision::kNeedsLease);
  Fetch(Plain(3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Spend(kNow + milliseconds(2)), LeaseDecision::kAllowed);
  EXPECT_EQ(Spend(kNow + milliseconds(2)), LeaseDecision::kNeedsLease);
}

/// A table that leases keys in demand only, as by default.
class LeaseDemandTest : public ::testing::Test {
 protected:
  LeaseDecision Spend(SteadyTime now, const std::string& tag = "alice",
                      SpendAttempt attempt = SpendAttempt::kNew) {
    return table_.Spend(KeyOf(tag), limit_, 1, now, attempt).decision;
  }

  const Limit limit_ = Bucket(1'000);
  denial::DenialTable denials_;
  LeaseTable table_{TableOptions{.max_keys = 64}, denials_};
};

TEST_F(LeaseDemandTest, TheStoreDecidesTheFirstCallsOfAKey) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Spend(kNow + milliseconds(90 * i)), LeaseDecision::kExact) << i;
  }
  EXPECT_EQ(Spend(kNow + milliseconds(270)), LeaseDecision::kNeedsLease);
  EXPECT_EQ(Spend(kNow + milliseconds(271)), LeaseDecision::kNeedsLease);
}

TEST_F(LeaseDemandTest, AKeyThatIsCalledRarelyIsNeverLeasedAndHasNoState) {
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(Spend(kNow + milliseconds(150 * i)), LeaseDecision::kExact) << i;
  }
  EXPECT_EQ(table_.StatsApprox().keys, 0U);
}

TEST_F(LeaseDemandTest, ManyColdKeysLeaveRoomForBusyOnes) {
  for (int i = 0; i < 10'000; ++i) Spend(kNow, std::to_string(i));
  EXPECT_EQ(table_.StatsApprox().keys, 0U);
  for (int i = 0; i < 3; ++i) Spend(kNow);
  EXPECT_EQ(Spend(kNow), LeaseDecision::kNeedsLease);
}

TEST_F(LeaseDemandTest, ATryCountsNothing) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Spend(kNow, "alice", SpendAttempt::kTry), LeaseDecision::kExact);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Spend(kNow), LeaseDecision::kExact) << i;
}

TEST_F(LeaseDemandTest, AKeyThatCoolsDownIsDecidedByTheStoreAgain) {
  for (int i = 0; i < 4; ++i) Spend(kNow);
  const Request request = table_.MakeRequest(KeyOf("alice"), limit_, 1, 1, kNow);
  table_.Granted(KeyOf("alice"), limit_, request, kNow, kNow, Plain(1));
  EXPECT_EQ(Spend(kNow, "alice", SpendAttempt::kAnswered), LeaseDecision::kAllowed);
  table_.Sweep(kNow + seconds(20), [](const Key&, const Limit&, const Request&) {});
  EXPECT_EQ(Spend(kNow + seconds(20)), LeaseDecision::kExact);
}

TEST_F(LeaseTableTest, AtTheEndAllTokensAreReturnedAndTheStoreDecides) {
  Fetch(Plain(7));
  EXPECT_EQ(Spend(kNow + milliseconds(2)), LeaseDecision::kAllowed);
  std::int64_t returned = 0;
  table_.EndLeasing([&](const Key& key, const Limit& limit, const Request& request) {
    EXPECT_EQ(key, key_);
    EXPECT_EQ(limit, limit_);
    for (const algo::lease::Report& report : request.reports) returned += report.returned;
  });
  EXPECT_EQ(returned, 6);
  EXPECT_EQ(table_.StatsApprox().outstanding, 0);
  EXPECT_EQ(Spend(kNow + milliseconds(3)), LeaseDecision::kExact);
}

TEST_F(LeaseTableTest, MeasuresTheDeadlineFromTheSending) {
  Fetch(Plain(3, seconds(1)));
  EXPECT_EQ(Spend(kNow + milliseconds(993)), LeaseDecision::kAllowed);
  EXPECT_EQ(Spend(kNow + milliseconds(994)),
            LeaseDecision::kNeedsLease);  // 5 ms and a thousandth less.
}

TEST_F(LeaseTableTest, AGrantAfterTheDeadlineAddsNoTokens) {
  const Request request = table_.MakeRequest(key_, limit_, 1, 1, kNow);
  table_.Granted(key_, limit_, request, kNow, kNow + seconds(2), Plain(3, seconds(1)));
  EXPECT_EQ(Spend(kNow + seconds(2)), LeaseDecision::kNeedsLease);
}

TEST_F(LeaseTableTest, ReservedRefillIsSpentWhenItArrives) {
  Grant grant = Plain(10, milliseconds(450));
  grant.schedule = {.ready = 1, .fraction = 0, .num = 1, .den = 1'000};  // One each millisecond.
  Fetch(grant);
  const SteadyTime received = kNow + milliseconds(1);
  EXPECT_EQ(Spend(received), LeaseDecision::kAllowed);
  const SpendResult denied = table_.Spend(key_, limit_, 1, received + Micros{400});
  EXPECT_EQ(denied.decision, LeaseDecision::kDenied);
  EXPECT_EQ(denied.retry_after, Micros{600});
  EXPECT_EQ(denied.remaining, 0);
  EXPECT_EQ(Spend(received + milliseconds(1)), LeaseDecision::kAllowed);
  EXPECT_EQ(Spend(received + milliseconds(3), 2), LeaseDecision::kAllowed);
  EXPECT_EQ(Spend(received + milliseconds(3)), LeaseDecision::kDenied);
}

TEST_F(LeaseTableTest, RemembersADenialForCostsAsLarge) {
  const Request request = table_.MakeRequest(key_, limit_, 5, 5, kNow);
  Grant grant;
  grant.retry_after = milliseconds(20);
  table_.Granted(key_, limit_, request, kNow, kNow + milliseconds(1), grant);
  EXPECT_EQ(Spend(kNow + milliseconds(2), 5), LeaseDecision::kDenied);
  EXPECT_EQ(Spend(kNow + milliseconds(2), 4), LeaseDecision::kNeedsLease);
  EXPECT_EQ(Spend(kNow + milliseconds(20), 5), LeaseDecision::kNeedsLease);
}

TEST_F(LeaseTableTest, ALongDenialIsRecheckedAndReportsTheWholeWait) {
  Grant denial;
  denial.retry_after = std::chrono::hours(1);
  SteadyTime now = kNow;
  for (const int wait : {50, 100, 200, 400, 800, 1'000, 1'000}) {
    Fetch(denial, now);
    const SpendResult denied = table_.Spend(key_, limit_, 1, now + milliseconds(wait) - Micros{1});
    EXPECT_EQ(denied.decision, LeaseDecision::kDenied) << wait;
    EXPECT_EQ(denied.retry_after, denial.retry_after - milliseconds(wait) + Micros{1});
    now += milliseconds(wait);
    EXPECT_EQ(Spend(now), LeaseDecision::kNeedsLease) << wait;
  }
  Fetch(Plain(1), now);
  EXPECT_EQ(Spend(now), LeaseDecision::kAllowed);
  Fetch(denial, now);
  EXPECT_EQ(Spend(now + milliseconds(49)), LeaseDecision::kDenied);
  EXPECT_EQ(Spend(now + milliseconds(50)), LeaseDecision::kNeedsLease);
}

TEST_F(LeaseTableTest, FewTokensOfAPlentifulKeyAreKeptAndThenLapseUnlessTheyRefillSlowly) {
  Grant grant = Plain(10);
  grant.lapses = true;
  for (const auto& [refill, returned] :
       {std::pair(Rate::PerSecond(10), 0), std::pair(Rate::PerMinute(10), 9)}) {
    limit_ = *Limit::TokenBucket({.capacity = 1'000, .refill = refill});
    name_ = returned > 0 ? "slow" : "quick";
    key_ = KeyOf(name_);
    Spend(kNow);
    Fetch(grant);
    Spend(kNow + milliseconds(1));
    std::int64_t sent = 0;
    const auto note = [&](const Key&, const Limit&, const Request& request) {
      for (const algo::lease::Report& report : request.reports) sent += report.returned;
    };
    table_.Sweep(kNow + seconds(5), note);
    EXPECT_EQ(sent, 0) << name_;
    table_.Sweep(kNow + seconds(10), note);
    EXPECT_EQ(sent, returned) << name_;
    EXPECT_EQ(table_.StatsApprox().missed, 0U);
  }
}

TEST_F(LeaseTableTest, ADenialOfAWeekIsReportedAsOne) {
  Grant denial;
  denial.retry_after = denial.reset_after = std::chrono::days(7);
  Fetch(denial);
  const SpendResult denied = table_.Spend(key_, limit_, 1, kNow);
  EXPECT_EQ(denied.retry_after, std::chrono::days(7));
  EXPECT_EQ(denied.reset_after, std::chrono::days(7));
}

TEST_F(LeaseTableTest, ADroppedDenialDeniesNoMore) {
  Grant denial;
  denial.retry_after = milliseconds(500);
  Fetch(denial);
  EXPECT_EQ(Spend(kNow + milliseconds(2)), LeaseDecision::kDenied);
  denials_.Drop(key_, kNow + milliseconds(2));
  EXPECT_EQ(Spend(kNow + milliseconds(2)), LeaseDecision::kNeedsLease);
}

TEST_F(LeaseTableTest, ReturnsTheLastKnownRemainingOncePerReply) {
  EXPECT_FALSE(table_.TakeLastKnown(key_, limit_, kNow));
  Grant grant = Plain(10);
  grant.left = 90;
  grant.reset_after = seconds(1);
  Fetch(grant);
  Spend(kNow + milliseconds(1), 4);
  EXPECT_FALSE(table_.TakeLastKnown(key_, Bucket(500), kNow));
  // Six in hand, ninety there, and what refilled in half a second.
  EXPECT_EQ(table_.TakeLastKnown(key_, limit_, kNow + milliseconds(500)), 6 + 90 + 500);
  EXPECT_FALSE(table_.TakeLastKnown(key_, limit_, kNow + milliseconds(500)));
  Fetch(grant, kNow + milliseconds(600));
  EXPECT_EQ(table_.TakeLastKnown(key_, limit_, kNow + milliseconds(1'600)), 1'000);
}

TEST_F(LeaseTableTest, AWindowHasNoMoreLeftUntilItEnds) {
  const Limit window = *Limit::FixedWindow({.limit = 1'000, .window = seconds(60)});
  Grant grant;
  grant.left = 90;
  grant.reset_after = seconds(60);
  for (const auto& [passed, left] : {std::pair{59, 90}, std::pair{60, 1'000}}) {
    const Request request = table_.MakeRequest(key_, window, 1, 1, kNow);
    table_.Granted(key_, window, request, kNow, kNow, grant);
    EXPECT_EQ(table_.TakeLastKnown(key_, window, kNow + seconds(passed)), left);
  }
}

TEST_F(LeaseTableTest, HoldsTokensFromAGrantUntilItsExpiry) {
  EXPECT_FALSE(table_.holds_any());
  Grant grant = Plain(3, seconds(1));
  grant.lapses = true;
  Fetch(grant);
  EXPECT_TRUE(table_.holds_any());
  table_.Sweep(kNow + milliseconds(990), [](auto&&...) {});
  EXPECT_TRUE(table_.holds_any());
  table_.Sweep(kNow + seconds(1), [](auto&&...) {});
  EXPECT_FALSE(table_.holds_any());
}

TEST_F(LeaseTableTest, CountsBySeriesIncludingDroppedKeys) {
  table_.Spend(key_, limit_, 1, kNow, SpendAttempt::kNew, 3);
  Fetch(Plain(3));
  table_.Spend(key_, limit_, 1, kNow + milliseconds(2), SpendAttempt::kNew, 3);
  const auto expect = [&](std::int64_t outstanding, std::size_t keys) {
    const std::vector<TableStats> stats = table_.StatsBySeriesApprox();
    ASSERT_EQ(stats.size(), 4U);
    EXPECT_EQ(stats[3].hits, 1U);
    EXPECT_EQ(stats[3].fetches, 1U);
    EXPECT_EQ(stats[3].granted, 3U);
    EXPECT_EQ(stats[3].outstanding, outstanding);
    EXPECT_EQ(stats[3].keys, keys);
    EXPECT_EQ(stats[0].fetches, 0U);
  };
  expect(2, 1);
  for (int i = 0; i < 200; ++i) table_.Sweep(kNow + seconds(20), [](auto&&...) {});
  expect(0, 0);
}

TEST_F(LeaseTableTest, MoreNodesMakeMoreLimitsExact) {
  EXPECT_EQ(Spend(kNow), LeaseDecision::kNeedsLease);
  table_.SetNodes(251);
  EXPECT_EQ(Spend(kNow), LeaseDecision::kExact);
  table_.SetNodes(250);
  EXPECT_EQ(Spend(kNow), LeaseDecision::kNeedsLease);
}

TEST_F(LeaseTableTest, ACallThatComesAgainCountsOnce) {
  EXPECT_EQ(table_.Spend(key_, limit_, 5, kNow, SpendAttempt::kTry).decision,
            LeaseDecision::kNeedsLease);
  EXPECT_EQ(table_.Spend(key_, limit_, 5, kNow, SpendAttempt::kNew).decision,
            LeaseDecision::kNeedsLease);
  EXPECT_EQ(table_.MakeRequest(key_, limit_, 5, 5, kNow).demand, 25);  // 5 in 200 ms.
}

TEST_F(LeaseTableTest, ReportsSpentTokensOnce) {
  Fetch(Plain(10));
  Spend(kNow + milliseconds(2), 4);
  const Request first = table_.MakeRequest(key_, limit_, 0, 1, kNow + milliseconds(3));
  EXPECT_EQ(first.reports[0].spent, 4);
  const Request second = table_.MakeRequest(key_, limit_, 0, 1, kNow + milliseconds(4));
  EXPECT_EQ(second.reports[0].spent, 0);
}

TEST_F(LeaseTableTest, ABusyKeyFetchesAheadWhenAQuarterIsLeft) {
  Fetch(Plain(100));
  const SteadyTime now = kNow + milliseconds(2);
  for (int i = 0; i < 74; ++i) ASSERT_FALSE(table_.Spend(key_, limit_, 1, now).fetch_ahead) << i;
  EXPECT_TRUE(table_.Spend(key_, limit_, 1, now).fetch_ahead);
  table_.MakeRequest(key_, limit_, 0, 1, now);
  EXPECT_FALSE(table_.Spend(key_, limit_, 1, now).fetch_ahead);
}

TEST_F(LeaseTableTest, AnotherLimitUnderTheSameKeyGivesBackTheOldLeases) {
  Fetch(Plain(10));
  const Limit other = Bucket(500);
  EXPECT_EQ(table_.Spend(key_, other, 1, kNow + milliseconds(2)).decision,
            LeaseDecision::kNeedsLease);
  const Request request = table_.MakeRequest(key_, other, 1, 1, kNow + milliseconds(2));
  EXPECT_EQ(request.reports[0].returned, 10);
}

TEST_F(LeaseTableTest, StaysBoundedAndLeavesOtherKeysToTheStore) {
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i) names.push_back(std::to_string(i));
  int exact = 0;
  for (const std::string& name : names) {
    if (table_.Spend(KeyOf(name), limit_, 1, kNow).decision == LeaseDecision::kExact) ++exact;
  }
  EXPECT_EQ(exact, 200 - 64);
  EXPECT_EQ(table_.StatsApprox().keys, 64U);
  for (int i = 0; i < 200; ++i) table_.Sweep(kNow + seconds(3), [](auto&&...) {});
  EXPECT_EQ(table_.StatsApprox().keys, 0U);
}

TEST_F(LeaseTableTest, SmallLimitsAndOtherAlgorithmsAreExact) {
  EXPECT_EQ(table_.Spend(key_, Bucket(49), 1, kNow).decision, LeaseDecision::kExact);
  const Limit leaky = *Limit::LeakyBucket({.capacity = 500, .leak = Rate::PerSecond(500)});
  EXPECT_EQ(table_.Spend(key_, leaky, 1, kNow).decision, LeaseDecision::kExact);
}

/// Several threads spend, fetch and sweep, around one store. Each token is spent once.
TEST(LeaseTableThreads, TogetherSpendNoMoreThanWasGranted) {
  constexpr std::int64_t kCap = 200'000;
  constexpr int kThreads = 4;
  const Limit limit = *Limit::TokenBucket({.capacity = kCap, .refill = Rate::PerHour(1)});
  const std::string name = "shared";
  const Key key = KeyOf(name);
  denial::DenialTable denials;
  LeaseTable table(TableOptions{.max_keys = 64, .calls_before_lease = 0}, denials);
  std::mutex mutex;  // The store's.
  const WallTime wall{std::chrono::hours(500'000)};
  algo::State state = algo::Fresh(limit.numbers(), wall);
  algo::lease::Ledger ledger;
  std::atomic<std::int64_t> admitted{0};
  const auto hear = [&](const Key& /*key*/, const Limit& /*limit*/, const Request& request) {
    const std::lock_guard guard(mutex);
    for (const auto& report : request.reports) {
      algo::lease::ApplyReport(limit.numbers(), state, ledger, report);
    }
  };
  const auto run = [&](int thread) {
    for (int i = 0; i < 100'000; ++i) {
      const SteadyTime now = kNow + Micros{i};
      if (i % 1'000 == thread) table.Sweep(now, hear);
      if (i % 5'000 == thread) table.Recall(key, now, hear);
      const SpendResult spent = table.Spend(key, limit, 1, now);
      if (spent.decision == LeaseDecision::kAllowed) ++admitted;
      if (spent.decision != LeaseDecision::kNeedsLease && !spent.fetch_ahead) continue;
      const Request request = table.MakeRequest(key, limit, 1, 1, now);
      Grant grant;
      {
        const std::lock_guard guard(mutex);
        grant = algo::lease::Fetch(limit.numbers(), wall, state, ledger, request);
      }
      table.Granted(key, limit, request, now, now, grant);
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(run, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(admitted, 0);
  EXPECT_LE(admitted, kCap);
  const std::int64_t left = algo::Left(limit.numbers(), wall, state);
  const TableStats stats = table.StatsApprox();
  EXPECT_LE(admitted + left + stats.outstanding, kCap);
}

}  // namespace
}  // namespace sluice::lease
