#include "denial/denial_table.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::denial {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using CheckKind = DenialTable::CheckKind;

class DenialTableTest : public ::testing::Test {
 protected:
  /// The store denies a call that was sent now.
  void Deny(std::int64_t cost, Micros retry_after, CheckKind kind = CheckKind::kOrdinary) {
    Deny(cost, retry_after, kind, now_);
  }
  void Deny(std::int64_t cost, Micros retry_after, CheckKind kind, SteadyTime sent) {
    table_.Denied(key_, limit_, cost, sent,
                  {.outcome = Outcome::kDenied,
                   .limit = limit_.cap(),
                   .remaining = cost - 1,
                   .retry_after = retry_after,
                   .reset_after = minutes(1)},
                  kind);
  }
  DenialAdvice Ask(std::int64_t cost = 1) {
    return table_.FindOrProbe(key_, limit_, cost, time_).advice;
  }
  DenialAdvice Find(std::int64_t cost = 1) { return table_.Find(key_, limit_, cost, time_).advice; }
  void Pass(Micros time) { now_ += time; }

  const Limit limit_ = *Limit::TokenBucket({.capacity = 5, .refill = Rate::PerMinute(5)});
  const Key key_{.scope = "rule:limit", .tag = "alice"};
  SteadyTime now_{std::chrono::hours(5)};
  const DenialTable::TimeSource time_ = [this] { return now_; };
  DenialTable table_;
};

TEST_F(DenialTableTest, IsInitiallyEmpty) { EXPECT_EQ(Ask(), DenialAdvice::kUnknown); }

TEST_F(DenialTableTest, DeniesThatCostAndMoreUntilRetryAfterFromTheSending) {
  const SteadyTime sent = now_;
  Pass(milliseconds(7));
  Deny(3, milliseconds(40), CheckKind::kOrdinary, sent);
  EXPECT_EQ(Ask(2), DenialAdvice::kUnknown);
  EXPECT_EQ(Ask(3), DenialAdvice::kDenied);
  EXPECT_EQ(Ask(4), DenialAdvice::kDenied);
  now_ = sent + milliseconds(40) - Micros{1};
  EXPECT_EQ(Ask(3), DenialAdvice::kDenied);
  Pass(Micros{1});
  EXPECT_EQ(Ask(3), DenialAdvice::kUnknown);
}

TEST_F(DenialTableTest, ReportsTheWaitAndTheRemainingUnits) {
  Deny(3, seconds(12));
  Pass(milliseconds(2));
  const Denial denial = table_.FindOrProbe(key_, limit_, 3, time_);
  const Verdict same = denial.VerdictOf(limit_.numbers(), 3);
  EXPECT_EQ(same.outcome, Outcome::kDenied);
  EXPECT_EQ(same.limit, 5);
  EXPECT_EQ(same.remaining, 2);
  EXPECT_EQ(same.retry_after, seconds(12) - milliseconds(2));
  EXPECT_EQ(same.reset_after, minutes(1) - milliseconds(2));
  EXPECT_EQ(denial.VerdictOf(limit_.numbers(), 4).retry_after, seconds(24) - milliseconds(2));
  const Verdict never = denial.VerdictOf(limit_.numbers(), 8);
  EXPECT_EQ(never.outcome, Outcome::kNeverFits);
  EXPECT_EQ(never.retry_after, kMaxWait);
}

TEST_F(DenialTableTest, OneCallAtATimeIsARealCheckAfterFiftyMillisecondsThenTwiceAsLong) {
  Deny(1, minutes(1));
  for (const int wait : {50, 100, 200, 400, 800, 1000, 1000}) {
    Pass(milliseconds(wait) - Micros{1});
    EXPECT_EQ(Ask(), DenialAdvice::kDenied) << wait;
    Pass(Micros{1});
    EXPECT_EQ(Find(), DenialAdvice::kDue);
    EXPECT_EQ(Ask(), DenialAdvice::kProbe);
    EXPECT_EQ(Ask(), DenialAdvice::kDenied) << "while it is under way";
    EXPECT_EQ(Find(), DenialAdvice::kDenied);
    Deny(1, minutes(1), CheckKind::kProbe);
  }
}

TEST_F(DenialTableTest, ARealCheckThatPassesEndsTheDenial) {
  Deny(1, minutes(1));
  Pass(kFirstRecheck);
  ASSERT_EQ(Ask(), DenialAdvice::kProbe);
  table_.Passed(key_, limit_, 1, now_);
  EXPECT_EQ(Ask(), DenialAdvice::kUnknown);
}

TEST_F(DenialTableTest, ARealCheckWithoutAResultIsTriedAgainAndTheDenialHoldsMeanwhile) {
  Deny(1, minutes(1));
  Pass(kFirstRecheck);
  ASSERT_EQ(Ask(), DenialAdvice::kProbe);
  Pass(milliseconds(20));
  table_.Failed(key_, now_);
  EXPECT_EQ(Ask(), DenialAdvice::kDenied);
  Pass(kFirstRecheck);
  EXPECT_EQ(Ask(), DenialAdvice::kProbe);
  table_.Unprobe(key_);
  EXPECT_EQ(Ask(), DenialAdvice::kProbe);
  Pass(kLongestRecheck);
  EXPECT_EQ(Ask(), DenialAdvice::kProbe) << "one that never ends keeps no caller from trying";
}

TEST_F(DenialTableTest, AllThatComeTogetherAreRealChecksIfNoneCameForMoreThanASecond) {
  Deny(1, minutes(1));
  Pass(kLongestRecheck + kFirstRecheck);
  EXPECT_EQ(Ask(), DenialAdvice::kProbe);
  EXPECT_EQ(Ask(), DenialAdvice::kDenied);
  Deny(1, minutes(1), CheckKind::kOrdinary);
  table_.Unprobe(key_);
  Pass(kLongestRecheck + kFirstRecheck + Micros{1});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(), DenialAdvice::kProbe);
  Pass(milliseconds(2));
  for (int i = 0; i < 3; ++i) Deny(1, minutes(1), CheckKind::kProbe);
  Pass(2 * kFirstRecheck - Micros{1});
  EXPECT_EQ(Ask(), DenialAdvice::kDenied);
  Pass(Micros{1});
  EXPECT_EQ(Ask(), DenialAdvice::kProbe);
  EXPECT_EQ(Ask(), DenialAdvice::kDenied);
}

TEST_F(DenialTableTest, ARealCheckOfAHigherCostDoesNotDenyLowerCosts) {
  Deny(1, minutes(1));
  Pass(kFirstRecheck);
  ASSERT_EQ(Ask(4), DenialAdvice::kProbe);
  Deny(4, minutes(1), CheckKind::kProbe);
  EXPECT_EQ(Ask(4), DenialAdvice::kDenied);
  EXPECT_EQ(Ask(3), DenialAdvice::kUnknown);
}

TEST_F(DenialTableTest, CallsThatWereUnderWayTogetherLeaveTheLowestCostAndOneTimeToCheck) {
  Deny(2, minutes(2));
  Deny(4, minutes(4));
  EXPECT_EQ(Ask(2), DenialAdvice::kDenied);
  Deny(1, minutes(1));
  EXPECT_EQ(Ask(1), DenialAdvice::kDenied);
  for (int i = 0; i < 100; ++i) Deny(1, minutes(1));
  Pass(kFirstRecheck);
  EXPECT_EQ(Ask(), DenialAdvice::kProbe);
}

TEST_F(DenialTableTest, ADropAlsoInvalidatesDenialsOfCallsSentBefore) {
  const SteadyTime before = now_;
  Deny(1, minutes(1));
  Pass(milliseconds(1));
  table_.Drop(key_, now_);
  EXPECT_EQ(Ask(), DenialAdvice::kUnknown);
  Deny(1, minutes(1), CheckKind::kOrdinary, before);
  EXPECT_EQ(Ask(), DenialAdvice::kUnknown);
  Deny(1, minutes(1), CheckKind::kProbe, now_);
  EXPECT_EQ(Ask(), DenialAdvice::kUnknown);
  Pass(Micros{1});
  Deny(1, minutes(1));
  EXPECT_EQ(Ask(), DenialAdvice::kDenied);
}

TEST_F(DenialTableTest, AChangedLimitIsAnotherLimit) {
  Deny(1, minutes(1));
  const Limit six = *Limit::TokenBucket({.capacity = 6, .refill = Rate::PerMinute(5)});
  const Limit faster = *Limit::TokenBucket({.capacity = 5, .refill = Rate::PerMinute(6)});
  const Limit leaky = *Limit::LeakyBucket({.capacity = 5, .leak = Rate::PerMinute(5)});
  for (const Limit* other : {&six, &faster, &leaky}) {
    EXPECT_EQ(table_.FindOrProbe(key_, *other, 1, time_).advice, DenialAdvice::kUnknown);
  }
  EXPECT_EQ(Ask(), DenialAdvice::kDenied);
}

TEST_F(DenialTableTest, KeysAreIndependent) {
  Deny(1, minutes(1));
  const Key bob{.scope = "rule:limit", .tag = "bob"};
  EXPECT_EQ(table_.FindOrProbe(bob, limit_, 1, time_).advice, DenialAdvice::kUnknown);
  table_.Drop(bob, now_);
  EXPECT_EQ(Ask(), DenialAdvice::kDenied);
}

TEST_F(DenialTableTest, StaysBoundedAndKeepsWhatIsUsed) {
  DenialTable small(TableOptions{.max_denials = 64});
  const auto deny = [&](const Key& key) {
    small.Denied(key, limit_, 1, now_, {.outcome = Outcome::kDenied, .retry_after = minutes(1)},
                 CheckKind::kOrdinary);
  };
  deny(key_);
  int known = 0;
  for (int i = 0; i < 10'000; ++i) {
    Pass(Micros{1});
    const std::string name = "other" + std::to_string(i);
    deny({.scope = "rule:limit", .tag = name});
    EXPECT_EQ(small.FindOrProbe(key_, limit_, 1, time_).advice, DenialAdvice::kDenied) << i;
  }
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "other" + std::to_string(i);
    const Key key{.scope = "rule:limit", .tag = name};
    known += small.Find(key, limit_, 1, time_).is_denied() ? 1 : 0;
  }
  EXPECT_LE(known, 64);
  EXPECT_GT(known, 0);
}

TEST_F(DenialTableTest, ThreadsShareItAndOnlyOneOfThemIsTheRealCheck) {
  Deny(1, minutes(1));
  Pass(kFirstRecheck);
  std::atomic<int> probes{0};
  const auto run = [&] {
    for (int i = 0; i < 10'000; ++i) {
      if (Ask() == DenialAdvice::kProbe) ++probes;
      table_.CountAnswer();
      const std::string name = std::to_string(i % 100);
      const Key other{.scope = "rule:limit", .tag = name};
      table_.Denied(other, limit_, 1, now_, {.retry_after = minutes(1)}, CheckKind::kOrdinary);
      table_.Drop(other, now_);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(probes, 1);
  EXPECT_EQ(table_.answers(), 40'000U);
}

}  // namespace
}  // namespace sluice::denial
