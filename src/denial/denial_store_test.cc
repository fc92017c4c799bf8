#include "denial/denial_store.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "denial/testing/distant_store.h"

namespace sluice::denial::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using store::Completion;
using store::KeyUse;
using store::Operation;
using store::StoreCall;

class DenialStoreTest : public ::testing::Test {
 protected:
  /// A check, unless `operation` says otherwise.
  Asked& Ask(std::vector<KeyUse> uses, Operation operation = Operation::kCheck,
             Micros timeout = Micros{0}) {
    Asked& asked = asked_.emplace_back();
    asked.Submit(remembering_, std::move(uses), operation, timeout);
    return asked;
  }
  Asked& AskAndWait(std::vector<KeyUse> uses, Operation operation = Operation::kCheck) {
    Asked& asked = Ask(std::move(uses), operation);
    store_.AnswerAll();
    return asked;
  }
  KeyUse UseOf(std::string_view name, std::int64_t cost = 1) {
    KeyUse use;
    use.key = {.scope = "rule:limit", .tag = name};
    use.limit = &limit_;
    use.cost = cost;
    return use;
  }
  /// Takes all that the limit has, and one more: that it is empty is known from here on.
  void Exhaust(std::string_view name) {
    for (int i = 0; i < 6; ++i) AskAndWait({UseOf(name)});
    ASSERT_FALSE(asked_.back().allowed());
    asked_.clear();
  }
  void Pass(Micros time) {
    now_ += time;
    store_.now += time;
  }

  const Limit limit_ = *Limit::TokenBucket({.capacity = 5, .refill = Rate::PerMinute(5)});
  SteadyTime now_{std::chrono::hours(5)};
  DistantStore store_;
  DenialTable table_;
  std::vector<std::string> changed_;
  int remembered_ = 0;
  SteadyTime woken_{};
  DenialStore remembering_{store_,
                           table_,
                           {.now = [this] { return now_; },
                            .deadline = milliseconds(50),
                            .changed = [this](const Key& key) { changed_.emplace_back(key.tag); },
                            .on_remembered = [this] { ++remembered_; },
                            .wake = [this](SteadyTime when) { woken_ = when; }}};
  std::deque<Asked> asked_;
};

TEST_F(DenialStoreTest, ARememberedDenialIsAnsweredWithoutTheStore) {
  Exhaust("alice");
  EXPECT_EQ(remembered_, 1);
  const int calls = store_.calls;
  for (int i = 0; i < 100; ++i) {
    const Asked& denied = Ask({UseOf("alice")});
    EXPECT_TRUE(denied.at_once());
    EXPECT_TRUE(denied.call.ok);
    EXPECT_FALSE(denied.allowed());
    EXPECT_EQ(denied.uses[0].verdict.outcome, Outcome::kDenied);
    EXPECT_EQ(denied.uses[0].verdict.retry_after, seconds(12));
    EXPECT_EQ(denied.uses[0].verdict.limit, 5);
    EXPECT_EQ(denied.uses[0].verdict.remaining, 0);
  }
  EXPECT_EQ(store_.calls, calls);
  EXPECT_EQ(table_.answers(), 100U);
  EXPECT_TRUE(AskAndWait({UseOf("bob")}).allowed());
}

TEST_F(DenialStoreTest, ADenialIsRememberedNoLongerThanItsRetryAfter) {
  Exhaust("alice");
  Pass(seconds(12));
  EXPECT_TRUE(AskAndWait({UseOf("alice")}).allowed());
}

TEST_F(DenialStoreTest, OneCallAtATimeIsSentAsARealCheck) {
  Exhaust("alice");
  store_.ForgetAll();  // As somebody does who deletes the key.
  Pass(kFirstRecheck);
  const Asked& probe = Ask({UseOf("alice")});
  EXPECT_FALSE(probe.at_once());
  const Asked& other = Ask({UseOf("alice")});
  EXPECT_TRUE(other.at_once());
  EXPECT_FALSE(other.allowed());
  store_.AnswerAll();
  EXPECT_TRUE(probe.allowed());
  EXPECT_TRUE(AskAndWait({UseOf("alice")}).allowed());
}

TEST_F(DenialStoreTest, WhileTheStoreFailsADenialHoldsUntilItsRetryAfter) {
  Exhaust("alice");
  store_.fails = ErrorCode::kStoreUnavailable;
  for (int i = 0; i < 11; ++i) {
    Pass(seconds(1));
    const Asked& denied = AskAndWait({UseOf("alice")});
    EXPECT_FALSE(denied.at_once()) << "a real check";
    EXPECT_TRUE(denied.call.ok);
    EXPECT_FALSE(denied.allowed());
  }
  Pass(seconds(1));
  EXPECT_FALSE(AskAndWait({UseOf("alice")}).call.ok);
  EXPECT_FALSE(AskAndWait({UseOf("bob")}).call.ok);
}

TEST_F(DenialStoreTest, AShortTimeoutEndsTheCallAndTheLateResultIsRemembered) {
  for (int i = 0; i < 5; ++i) AskAndWait({UseOf("alice")});
  Asked& hurried = Ask({UseOf("alice")}, Operation::kCheck, milliseconds(10));
  EXPECT_EQ(woken_, now_ + milliseconds(10));
  Pass(milliseconds(10));
  remembering_.ExpireCalls();
  EXPECT_EQ(hurried.times_done, 1);
  EXPECT_FALSE(hurried.call.ok);
  EXPECT_EQ(hurried.call.error, ErrorCode::kStoreTimeout);
  asked_.clear();  // The caller is gone.
  store_.AnswerAll();
  const Asked& next = Ask({UseOf("alice")}, Operation::kCheck, milliseconds(10));
  EXPECT_TRUE(next.at_once());
  EXPECT_FALSE(next.allowed());
}

TEST_F(DenialStoreTest, AShortTimeoutDoesNotChangeAResultInTime) {
  const Asked& asked = Ask({UseOf("alice", 2)}, Operation::kCheck, milliseconds(10));
  store_.AnswerAll();
  EXPECT_TRUE(asked.allowed());
  EXPECT_EQ(asked.times_done, 1);
  EXPECT_EQ(asked.uses[0].verdict.remaining, 3);
  EXPECT_EQ(asked.uses[0].receipt.amount, 2);
  Pass(milliseconds(10));
  remembering_.ExpireCalls();
  EXPECT_EQ(asked.times_done, 1);
}

TEST_F(DenialStoreTest, ARealCheckThatTimesOutForItsCallerIsDenied) {
  Exhaust("alice");
  Pass(kFirstRecheck);
  const Asked& probe = Ask({UseOf("alice")}, Operation::kCheck, milliseconds(10));
  EXPECT_FALSE(probe.at_once());
  Pass(milliseconds(10));
  remembering_.ExpireCalls();
  EXPECT_TRUE(probe.call.ok);
  EXPECT_FALSE(probe.allowed());
  store_.AnswerAll();
  EXPECT_EQ(probe.times_done, 1);
}

TEST_F(DenialStoreTest, ResetsGrantsAndRefundsDropDenialsWhenSentAndWhenAnswered) {
  for (const Operation operation : {Operation::kReset, Operation::kGrant, Operation::kAdjust}) {
    Exhaust("alice");
    KeyUse use = UseOf("alice", operation == Operation::kGrant ? 5 : 0);
    use.receipt = {.amount = 5, .from_grant = 0, .at = store_.now};
    Asked& change = Ask({use}, operation);
    EXPECT_TRUE(changed_.empty());
    Asked& behind = Ask({UseOf("alice")});
    EXPECT_FALSE(behind.at_once());
    store_.AnswerAll();
    EXPECT_TRUE(change.call.ok);
    EXPECT_EQ(change.times_done, 1);
    EXPECT_TRUE(behind.allowed());
    EXPECT_EQ(changed_, std::vector<std::string>{"alice"});
    EXPECT_TRUE(AskAndWait({UseOf("alice")}).allowed());
    AskAndWait({UseOf("alice", 0)}, Operation::kReset);
    changed_.clear();
    Pass(seconds(1));
  }
}

TEST_F(DenialStoreTest, ADenialThatWasSentBeforeAResetIsNotRememberedAfterIt) {
  for (int i = 0; i < 5; ++i) AskAndWait({UseOf("alice")});
  const Asked& denied = Ask({UseOf("alice")});
  store_.RunOne();  // Denied, but the answer is still on its way
  Pass(milliseconds(1));
  Ask({UseOf("alice", 0)}, Operation::kReset);
  store_.RunOne();
  store_.AnswerLast();  // when that of the reset is there, from another connection.
  store_.AnswerAll();
  EXPECT_FALSE(denied.allowed());
  Pass(milliseconds(1));
  EXPECT_TRUE(AskAndWait({UseOf("alice")}).allowed());
}

TEST_F(DenialStoreTest, AChargeIsNotAnnounced) {
  KeyUse use = UseOf("alice", 3);
  use.receipt = {.amount = 1, .from_grant = 0, .at = store_.now};
  AskAndWait({use}, Operation::kAdjust);
  EXPECT_TRUE(changed_.empty());
}

TEST_F(DenialStoreTest, AnyLimitOfACallDeniesItAndNothingIsTakenFromTheOthers) {
  Exhaust("alice");
  const int calls = store_.calls;
  const Asked& denied = Ask({UseOf("all", 2), UseOf("alice")});
  EXPECT_TRUE(denied.at_once());
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.uses[0].verdict.outcome, Outcome::kAllowed);
  EXPECT_EQ(denied.uses[0].verdict.limit, 5);
  EXPECT_EQ(denied.uses[0].receipt, Receipt{});
  EXPECT_EQ(denied.uses[1].verdict.outcome, Outcome::kDenied);
  EXPECT_EQ(store_.calls, calls);
  EXPECT_EQ(AskAndWait({UseOf("all")}).uses[0].verdict.remaining, 4);
  Pass(kFirstRecheck);
  EXPECT_FALSE(Ask({UseOf("all", 2), UseOf("alice")}).at_once());
  EXPECT_TRUE(Ask({UseOf("all", 2), UseOf("alice")}).at_once());
  store_.AnswerAll();
}

TEST_F(DenialStoreTest, TheTotalCostOfTwoUsesOfOneKeyIsNotRememberedAsTheCostOfOne) {
  EXPECT_FALSE(AskAndWait({UseOf("alice", 3), UseOf("alice", 3)}).allowed());
  EXPECT_TRUE(AskAndWait({UseOf("alice", 3)}).allowed());
}

TEST_F(DenialStoreTest, SomeLimitsAreNeverRemembered) {
  const Limit slots = *Limit::Concurrency({.limit = 5});
  KeyUse concurrency = UseOf("slots");
  concurrency.limit = &slots;
  KeyUse counts_denied = UseOf("counts");
  counts_denied.count_denied = true;
  KeyUse shadow = UseOf("shadow");
  shadow.mode = Mode::kShadow;
  KeyUse quota = UseOf("quota");
  quota.mode = Mode::kQuota;
  KeyUse looks = UseOf("looks", 6);
  looks.only_looks = true;
  for (const KeyUse& use : {concurrency, counts_denied, shadow, quota, looks}) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(AskAndWait({use}).at_once()) << use.key.tag;
    }
  }
  EXPECT_EQ(remembered_, 0);
}

TEST_F(DenialStoreTest, CallsWithALimitThatCountsDeniedCallsAlwaysReachTheStore) {
  Exhaust("alice");
  KeyUse counts_denied = UseOf("counts");
  counts_denied.count_denied = true;
  const Asked& denied = AskAndWait({UseOf("alice"), counts_denied});
  EXPECT_FALSE(denied.at_once());
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.uses[1].verdict.remaining, 4);
  store_.fails = ErrorCode::kStoreTimeout;
  EXPECT_TRUE(AskAndWait({UseOf("alice"), counts_denied}).call.ok);
}

TEST_F(DenialStoreTest, InvalidCallsAreRejectedByTheStore) {
  Exhaust("alice");
  const Asked& refused = AskAndWait({UseOf("alice"), UseOf("bob", -1)});
  EXPECT_FALSE(refused.call.ok);
  EXPECT_EQ(refused.call.error, ErrorCode::kInvalidCost);
}

TEST_F(DenialStoreTest, AnyThreadCanBeAnsweredFromTheTable) {
  const auto time = [this] { return now_; };
  Asked asked;
  asked.uses = {UseOf("alice")};
  asked.call.uses = asked.uses;
  EXPECT_FALSE(AnswerFrom(table_, asked.call, time));
  Exhaust("alice");
  EXPECT_TRUE(AnswerFrom(table_, asked.call, time));
  EXPECT_TRUE(asked.call.ok);
  EXPECT_FALSE(asked.call.allowed);
  Pass(kFirstRecheck);
  EXPECT_FALSE(AnswerFrom(table_, asked.call, time)) << "the store is to be asked";
  EXPECT_FALSE(Ask({UseOf("alice")}).at_once());
  store_.AnswerAll();
}

}  // namespace
}  // namespace sluice::denial::testing
