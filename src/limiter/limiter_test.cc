#include "limiter/limiter.h"

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/testing/model_store.h"

namespace sluice::limiter {
namespace {

using rules::LoadOutcome;
using std::chrono::seconds;
using store::Answered;
using store::Operation;

constexpr WallTime kStart{seconds(1'900'000'000)};

// A store that may be told to answer later, or not to know.
class FickleStore final : public store::Store {
 public:
  Answered Submit(store::Call& call) override {
    if (failure) {
      call.ok = false;
      call.error = *failure;
      return Answered::kNow;
    }
    if (!answers_later) return model_.Submit(call);
    call.pending = true;
    waiting_.push_back(&call);
    return Answered::kLater;
  }
  void SubmitBatch(std::span<store::Call* const> calls) override {
    for (store::Call* call : calls) Submit(*call);
  }
  void AnswerAll() {
    while (!waiting_.empty()) {
      store::Call& call = *waiting_.front();
      waiting_.pop_front();
      model_.Submit(call);
      call.on_done(call, call.context);
    }
  }

  bool answers_later = false;
  std::optional<ErrorCode> failure;

 private:
  store::testing::ModelStore model_;
  std::deque<store::Call*> waiting_;
};

class LimiterTest : public ::testing::Test {
 protected:
  void Load(std::string_view yaml) {
    const rules::LoadReport report = live_.Load("rules.yaml", yaml, kStart);
    std::string mistakes;
    for (const rules::Mistake& mistake : report.mistakes) mistakes += Describe(mistake) + "\n";
    ASSERT_EQ(report.outcome, LoadOutcome::kActivated) << mistakes;
  }

  const Question& Ask(std::string_view api_key, std::int64_t cost = 1,
                      Operation operation = Operation::kCheck) {
    question_.Clear();
    question_.operation = operation;
    question_.cost = cost;
    question_.Add("api_key", api_key);
    EXPECT_EQ(limiter_.Ask(question_, now_), Answered::kNow);
    return question_;
  }

  WallTime now_ = kStart;
  FickleStore store_;
  store::testing::ModelStore fallback_;
  rules::LiveRules live_;
  rules::RulesReader reader_{live_};
  Settings settings_;
  Limiter limiter_{store_, &fallback_, reader_, settings_};
  Question question_;
};

constexpr std::string_view kThreeAMinute = R"(
rules:
  - id: api
    algorithm: fixed_window
    limit: 3
    window: 60
)";

TEST_F(LimiterTest, WithoutRulesEverythingPasses) {
  EXPECT_EQ(Ask("alice").ruling, Ruling::kNoRule);
  EXPECT_TRUE(question_.allowed);
}

TEST_F(LimiterTest, ARuleCountsEachClientApart) {
  Load(kThreeAMinute);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Ask("alice").allowed);
  const Question& denied = Ask("alice");
  EXPECT_EQ(denied.ruling, Ruling::kDecided);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.headline.headline.outcome, Outcome::kDenied);
  ASSERT_EQ(denied.uses().size(), 1U);
  EXPECT_EQ(denied.met(0).rule->id, "api");
  EXPECT_TRUE(Ask("bob").allowed);
}

TEST_F(LimiterTest, OnlyLeasedRulesMayBeDecidedByTokensTakenAhead) {
  Load("rules: [{ id: api, limit: 100/s }]");
  EXPECT_FALSE(Ask("alice").uses()[0].may_lease);
  Load("rules: [{ id: api, limit: 100/s, consistency: leased }]");
  EXPECT_TRUE(Ask("alice").uses()[0].may_lease);
}

TEST_F(LimiterTest, ALookTakesNothingAndAResetForgets) {
  Load(kThreeAMinute);
  Ask("alice", 2);
  EXPECT_EQ(Ask("alice", 0, Operation::kPeek).uses()[0].verdict.remaining, 1);
  EXPECT_FALSE(Ask("alice", 2, Operation::kPeek).allowed);
  EXPECT_EQ(Ask("alice", 0, Operation::kReset).affected, 1U);
  EXPECT_EQ(Ask("alice", 0, Operation::kPeek).uses()[0].verdict.remaining, 3);
}

TEST_F(LimiterTest, AGrantIsSpentFirst) {
  Load(kThreeAMinute);
  Ask("alice", 10, Operation::kGrant);
  EXPECT_TRUE(Ask("alice", 12).allowed);
  EXPECT_EQ(question_.uses()[0].verdict.remaining, 1);
}

TEST_F(LimiterTest, ListsComeBeforeRules) {
  Load(R"(
rules:
  - { id: api, limit: 1/h }
allow: ["friend_*"]
deny: ["friend_lost"]
)");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask("friend_1").ruling, Ruling::kAllowListed);
  EXPECT_TRUE(question_.allowed);
  EXPECT_TRUE(question_.uses().empty());
  EXPECT_EQ(Ask("friend_lost").ruling, Ruling::kDenyListed);
  EXPECT_FALSE(question_.allowed);
}

TEST_F(LimiterTest, ACallThatNoRuleMeetsGetsTheDefault) {
  Load(R"(
rules:
  - { id: api, match: { api_key: alice }, limit: 1/h }
default: deny
)");
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(Ask("bob").ruling, Ruling::kNoRule);
  EXPECT_FALSE(question_.allowed);
}

TEST_F(LimiterTest, ShadowRulesAreJudgedAndNeverDeny) {
  Load(R"(
rules:
  - { id: tight, shadow: true, limit: 1/h }
  - { id: wide, limit: 3/h }
)");
  EXPECT_TRUE(Ask("alice").allowed);
  const Question& second = Ask("alice");
  EXPECT_TRUE(second.allowed);
  ASSERT_EQ(second.uses().size(), 2U);
  EXPECT_EQ(second.uses()[0].verdict.outcome, Outcome::kDenied);
  EXPECT_EQ(second.headline.index, 1) << "callers are not told of shadow rules";
}

TEST_F(LimiterTest, EnforcementCanBeSwitchedWhileRunning) {
  Load(R"(
rules:
  - { id: api, limit: 1/h }
)");
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_FALSE(Ask("alice").allowed);
  settings_.enforcement = Enforcement::kShadow;
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(question_.uses()[0].verdict.outcome, Outcome::kDenied) << "it is still judged";
  settings_.enforcement = Enforcement::kOff;
  EXPECT_EQ(Ask("alice").ruling, Ruling::kNotEnforced);
  EXPECT_TRUE(question_.uses().empty());
  settings_.enforcement = Enforcement::kOn;
  EXPECT_FALSE(Ask("alice").allowed);
}

TEST_F(LimiterTest, ARuleThatRejectsAllNeedsNoStore) {
  Load(R"(
rules:
  - { id: closed, match: { api_key: alice }, reject_all: true }
)");
  store_.failure = ErrorCode::kStoreUnavailable;
  const Question& rejected = Ask("alice");
  EXPECT_EQ(rejected.ruling, Ruling::kDecided);
  EXPECT_FALSE(rejected.allowed);
  EXPECT_EQ(rejected.headline.headline.outcome, Outcome::kNeverFits);
}

TEST_F(LimiterTest, ACostThatARuleForbidsIsRefusedAndTakesNothing) {
  Load(R"(
rules:
  - { id: api, limit: 10/h, max_cost: 5 }
)");
  EXPECT_EQ(Ask("alice", 6).ruling, Ruling::kInvalid);
  EXPECT_EQ(question_.error, ErrorCode::kInvalidCost);
  EXPECT_EQ(Ask("alice", -1).ruling, Ruling::kInvalid);
  EXPECT_EQ(Ask("alice", 5).uses()[0].verdict.remaining, 5);
}

TEST_F(LimiterTest, AConcurrencyLimitHasOneSlotForAllItsRules) {
  Load(R"(
rules:
  - { id: mine, algorithm: concurrency, limit: 1 }
  - { id: ours, per: [], algorithm: concurrency, limit: 5 }
)");
  EXPECT_TRUE(Ask("alice").allowed);
  const std::uint64_t slot = question_.slot;
  EXPECT_NE(slot, 0U);
  EXPECT_FALSE(Ask("alice").allowed);
  question_.Clear();
  question_.operation = Operation::kRelease;
  question_.slot = slot;
  question_.Add("api_key", "alice");
  limiter_.Ask(question_, now_);
  EXPECT_EQ(question_.affected, 2U);
  EXPECT_TRUE(Ask("alice").allowed);
}

TEST_F(LimiterTest, LimitsOfTheCallersOwnNeedNoRules) {
  const Limit two = *Limit::FixedWindow({.limit = 2, .window = seconds(60)});
  for (const bool expected : {true, true, false}) {
    question_.Clear();
    question_.AddLimit({.scope = ":throttle", .tag = "alice"}, two, 1);
    limiter_.Ask(question_, now_);
    EXPECT_EQ(question_.ruling, Ruling::kDecided);
    EXPECT_EQ(question_.allowed, expected);
    EXPECT_EQ(question_.met(0).rule, nullptr);
  }
}

TEST_F(LimiterTest, AnAnswerThatComesLaterFindsItsRulesThoughTheyHaveChanged) {
  Load(kThreeAMinute);
  store_.answers_later = true;
  question_.Clear();
  question_.Add("api_key", std::string("alice"));
  std::string heard;
  question_.context = &heard;
  question_.on_done = [](Question& done, void* context) {
    *static_cast<std::string*>(context) = done.met(0).rule->id;
  };
  ASSERT_EQ(limiter_.Ask(question_, now_), Answered::kLater);
  for (int i = 0; i < 12; ++i) {
    Load("rules: [{ id: other" + std::to_string(i) + ", limit: 1/h }]");
    Question unused;
    unused.Add("api_key", "bob");
    store_.answers_later = false;
    limiter_.Ask(unused, now_);
    store_.answers_later = true;
  }
  EXPECT_EQ(heard, "");
  store_.AnswerAll();
  EXPECT_EQ(heard, "api");
  EXPECT_TRUE(question_.allowed);
}

// ---- When the store can't tell.

TEST_F(LimiterTest, RulesAreOpenUnlessTheySayOtherwise) {
  Load(kThreeAMinute);
  store_.failure = ErrorCode::kStoreTimeout;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(question_.ruling, Ruling::kDegraded);
  EXPECT_TRUE(question_.degraded);
  EXPECT_EQ(question_.error, ErrorCode::kStoreTimeout);
}

TEST_F(LimiterTest, OneClosedRuleDeniesTheCall) {
  Load(R"(
rules:
  - { id: open, limit: 1/h }
  - { id: closed, limit: 1/h, on_store_failure: closed }
)");
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_FALSE(Ask("alice").allowed);
  EXPECT_EQ(question_.ruling, Ruling::kDegraded);
  EXPECT_EQ(question_.met(question_.headline.index).rule->id, "closed");
}

TEST_F(LimiterTest, AClosedShadowRuleDeniesNobody) {
  Load("rules: [{ id: closed, shadow: true, limit: 1/h, on_store_failure: closed }]");
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_TRUE(Ask("alice").allowed);
}

TEST_F(LimiterTest, ALocalRuleGoesOnInMemory) {
  Load(R"(
rules:
  - { id: login, priority: strict, limit: 2/h }
)");
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(question_.uses()[0].verdict.remaining, 1);
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_FALSE(Ask("alice").allowed);
  EXPECT_TRUE(question_.degraded);
  EXPECT_EQ(question_.headline.headline.outcome, Outcome::kDenied);
  EXPECT_TRUE(Ask("bob").allowed);
}

TEST_F(LimiterTest, AMistakeOfTheCallersIsNotTheStoresFailure) {
  Load(kThreeAMinute);
  EXPECT_EQ(Ask(std::string(kMaxKeyBytes + 1, 'x')).ruling, Ruling::kInvalid);
  EXPECT_EQ(question_.error, ErrorCode::kInvalidKey);
}

}  // namespace
}  // namespace sluice::limiter
