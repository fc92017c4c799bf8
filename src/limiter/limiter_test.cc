#include "limiter/limiter.h"

#include <chrono>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algo/lease.h"
#include "base/clock.h"
#include "lease/lease_table.h"
#include "match/load_rules.h"
#include "store/testing/model_store.h"

namespace sluice::limiter {
namespace {

using std::chrono::seconds;
using store::Completion;
using store::Operation;

constexpr WallTime kStart{seconds(1'900'000'000)};

// A store that can answer later, or fail.
class FickleStore final : public store::Store {
 public:
  Completion Submit(store::StoreCall& call) override {
    if (failure) {
      call.ok = false;
      call.error = *failure;
      return Completion::kNow;
    }
    if (!answers_later) return model_.Submit(call);
    call.pending = true;
    waiting_.push_back(&call);
    return Completion::kLater;
  }
  void SubmitBatch(std::span<store::StoreCall* const> calls) override {
    for (store::StoreCall* call : calls) Submit(*call);
  }
  void AnswerAll() {
    while (!waiting_.empty()) {
      store::StoreCall& call = *waiting_.front();
      waiting_.pop_front();
      model_.Submit(call);
      call.on_done(call, call.context);
    }
  }

  bool answers_later = false;
  std::optional<ErrorCode> failure;

 private:
  store::testing::ModelStore model_;
  std::deque<store::StoreCall*> waiting_;
};

class LimiterTest : public ::testing::Test {
 protected:
  void Load(std::string_view yaml) {
    const LoadReport report = LoadRules(live_, "rules.yaml", yaml, kStart);
    ASSERT_EQ(report.outcome, LoadOutcome::kActivated) << ::testing::PrintToString(report.errors);
  }

  const CheckRequest& Ask(std::string_view api_key, std::int64_t cost = 1,
                          Operation operation = Operation::kCheck) {
    check_.Clear();
    check_.operation = operation;
    check_.cost = cost;
    check_.Add("api_key", api_key);
    EXPECT_EQ(limiter_.Decide(check_, now_), Completion::kNow);
    return check_;
  }

  WallTime now_ = kStart;
  FickleStore store_;
  store::testing::ModelStore fallback_;
  Live<match::RuleSet> live_;
  LiveReader<match::RuleSet> reader_{live_};
  Settings settings_;
  Limiter limiter_{store_, &fallback_, reader_, settings_};
  CheckRequest check_;
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
  EXPECT_TRUE(check_.allowed);
}

TEST_F(LimiterTest, ARuleCountsEachClientApart) {
  Load(kThreeAMinute);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Ask("alice").allowed);
  const CheckRequest& denied = Ask("alice");
  EXPECT_EQ(denied.ruling, Ruling::kDecided);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.decision.tightest.outcome, Outcome::kDenied);
  ASSERT_EQ(denied.uses().size(), 1U);
  EXPECT_EQ(denied.matched(0).rule->id, "api");
  EXPECT_TRUE(Ask("bob").allowed);
}

TEST_F(LimiterTest, OnlyChecksByRulesHaveMatchedAttributes) {
  Load(kThreeAMinute);
  const CheckRequest& by_rules = Ask("alice");
  ASSERT_EQ(by_rules.matched_attributes().size(), 1U);
  EXPECT_EQ(by_rules.matched_attributes()[0].name, "api_key");
  EXPECT_EQ(by_rules.matched_attributes()[0].value, "alice");
  check_.Clear();
  check_.Add("api_key", "alice");
  check_.AddLimit({.scope = "own", .tag = "alice"},
                  *Limit::FixedWindow({.limit = 1, .window = seconds(1)}), 1);
  EXPECT_EQ(limiter_.Decide(check_, now_), Completion::kNow);
  EXPECT_TRUE(check_.matched_attributes().empty());
}

// kStart is 2030-03-17T17:46:40Z.
TEST_F(LimiterTest, ARuleBeginsAndEndsByItself) {
  Load(
      "rules: [{ id: api, limit: 1/h, starts_at: 2030-03-17T17:46:50Z,"
      " expires_at: 2030-03-17T17:47:00Z }]");
  EXPECT_EQ(Ask("alice").ruling, Ruling::kNoRule);
  now_ = kStart + seconds(10);
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(check_.ruling, Ruling::kDecided);
  EXPECT_FALSE(Ask("alice").allowed);
  now_ = kStart + seconds(20);
  EXPECT_EQ(Ask("alice").ruling, Ruling::kNoRule);
  EXPECT_TRUE(check_.allowed);
}

TEST_F(LimiterTest, SchedulesFollowTheClockOfTheStore) {
  Load("rules: [{ id: api, limit: 1/h, starts_at: 2030-03-17T17:46:50Z }]");
  settings_.store_clock_ahead = seconds(9);
  EXPECT_EQ(Ask("alice").ruling, Ruling::kNoRule);
  settings_.store_clock_ahead = seconds(10);
  EXPECT_EQ(Ask("alice").ruling, Ruling::kDecided);
}

TEST_F(LimiterTest, ACallerThatMovesIntoARolloutKeepsItsBudget) {
  // sk_2 is at 40.68 % of the callers of this rule.
  Load(
      "rules: [{ id: api, algorithm: fixed_window, limit: 5/h,"
      " rollout: { percent: 35, from: 2/h } }]");
  EXPECT_TRUE(Ask("sk_2").allowed);
  EXPECT_TRUE(Ask("sk_2").allowed);
  EXPECT_FALSE(Ask("sk_2").allowed);
  EXPECT_EQ(check_.matched(0).cohort, match::Cohort::kOld);
  Load(
      "rules: [{ id: api, algorithm: fixed_window, limit: 5/h,"
      " rollout: { percent: 45, from: 2/h } }]");
  EXPECT_TRUE(Ask("sk_2").allowed);
  EXPECT_EQ(check_.matched(0).cohort, match::Cohort::kNew);
  EXPECT_EQ(check_.uses()[0].verdict.remaining, 2) << "two were taken before";
}

TEST_F(LimiterTest, AShadowLimitBesideAnEnforcedOneNeverDenies) {
  Load("rules: [{ id: api, limits: { real: 3/h, trial: { limit: 1/h, shadow: true } } }]");
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_TRUE(Ask("alice").allowed);
  ASSERT_EQ(check_.uses().size(), 2U);
  EXPECT_EQ(check_.uses()[0].mode, Mode::kEnforce);
  EXPECT_EQ(check_.uses()[1].mode, Mode::kShadow);
  EXPECT_EQ(check_.uses()[1].verdict.outcome, Outcome::kDenied);
  EXPECT_EQ(check_.decision.index, 0) << "callers hear of the enforced limit";
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_FALSE(Ask("alice").allowed);
}

TEST_F(LimiterTest, ARuleMayDenyCallsThatLackAnAttribute) {
  Load("rules: [{ id: api, per: tenant, on_missing: deny, limit: 3/m }]");
  const CheckRequest& denied = Ask("alice");
  EXPECT_EQ(denied.ruling, Ruling::kDecided);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.decision.tightest.outcome, Outcome::kNeverFits);
  ASSERT_EQ(denied.lacking().size(), 1U);
  EXPECT_EQ(denied.lacking()[0]->id, "api");
}

TEST_F(LimiterTest, CallsThatLackAnAttributeMayShareABudget) {
  Load("rules: [{ id: api, per: tenant, on_missing: shared, limit: 2/m }]");
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_TRUE(Ask("bob").allowed);
  EXPECT_FALSE(Ask("carol").allowed);
}

TEST_F(LimiterTest, AShadowRuleOnlySaysThatItWouldDenyCallsThatLackAnAttribute) {
  Load("rules: [{ id: api, per: tenant, on_missing: deny, shadow: true, limit: 3/m }]");
  const CheckRequest& passed = Ask("alice");
  EXPECT_TRUE(passed.allowed);
  ASSERT_EQ(passed.uses().size(), 1U);
  EXPECT_EQ(passed.uses()[0].verdict.outcome, Outcome::kNeverFits);
}

TEST_F(LimiterTest, MissingAttributesOfOneCallAreNotReportedForTheNext) {
  Load("rules: [{ id: api, per: tenant, limit: 3/m }]");
  EXPECT_EQ(Ask("alice").lacking().size(), 1U);
  check_.Clear();
  check_.AddLimit({.scope = "own", .tag = "alice"},
                  *Limit::FixedWindow({.limit = 1, .window = seconds(1)}), 1);
  limiter_.Decide(check_, now_);
  EXPECT_TRUE(check_.lacking().empty());
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
  EXPECT_EQ(check_.uses()[0].verdict.remaining, 1);
}

TEST_F(LimiterTest, ListsComeBeforeRules) {
  Load(R"(
rules:
  - { id: api, limit: 1/h }
allow: ["friend_*"]
deny: ["friend_lost"]
)");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask("friend_1").ruling, Ruling::kAllowListed);
  EXPECT_TRUE(check_.allowed);
  EXPECT_TRUE(check_.uses().empty());
  EXPECT_EQ(Ask("friend_lost").ruling, Ruling::kDenyListed);
  EXPECT_FALSE(check_.allowed);
}

TEST_F(LimiterTest, ACallThatNoRuleMatchesGetsTheDefault) {
  Load(R"(
rules:
  - { id: api, match: { api_key: alice }, limit: 1/h }
default: deny
)");
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(Ask("bob").ruling, Ruling::kNoRule);
  EXPECT_FALSE(check_.allowed);
}

TEST_F(LimiterTest, ShadowRulesAreEvaluatedAndNeverDeny) {
  Load(R"(
rules:
  - { id: tight, shadow: true, limit: 1/h }
  - { id: wide, limit: 3/h }
)");
  EXPECT_TRUE(Ask("alice").allowed);
  const CheckRequest& second = Ask("alice");
  EXPECT_TRUE(second.allowed);
  ASSERT_EQ(second.uses().size(), 2U);
  EXPECT_EQ(second.uses()[0].verdict.outcome, Outcome::kDenied);
  EXPECT_EQ(second.decision.index, 1) << "shadow rules are not reported";
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
  EXPECT_EQ(check_.uses()[0].verdict.outcome, Outcome::kDenied) << "it is still judged";
  settings_.enforcement = Enforcement::kOff;
  EXPECT_EQ(Ask("alice").ruling, Ruling::kNotEnforced);
  EXPECT_TRUE(check_.uses().empty());
  settings_.enforcement = Enforcement::kOn;
  EXPECT_FALSE(Ask("alice").allowed);
}

TEST_F(LimiterTest, ARuleThatRejectsAllNeedsNoStore) {
  Load(R"(
rules:
  - { id: closed, match: { api_key: alice }, reject_all: true }
)");
  store_.failure = ErrorCode::kStoreUnavailable;
  const CheckRequest& rejected = Ask("alice");
  EXPECT_EQ(rejected.ruling, Ruling::kDecided);
  EXPECT_FALSE(rejected.allowed);
  EXPECT_EQ(rejected.decision.tightest.outcome, Outcome::kNeverFits);
}

TEST_F(LimiterTest, ACostThatARuleForbidsIsRefusedAndTakesNothing) {
  Load(R"(
rules:
  - { id: api, limit: 10/h, max_cost: 5 }
)");
  EXPECT_EQ(Ask("alice", 6).ruling, Ruling::kInvalid);
  EXPECT_EQ(check_.error, ErrorCode::kInvalidCost);
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
  const std::uint64_t slot = check_.slot;
  EXPECT_NE(slot, 0U);
  EXPECT_FALSE(Ask("alice").allowed);
  check_.Clear();
  check_.operation = Operation::kRelease;
  check_.slot = slot;
  check_.Add("api_key", "alice");
  limiter_.Decide(check_, now_);
  EXPECT_EQ(check_.affected, 2U);
  EXPECT_TRUE(Ask("alice").allowed);
}

TEST_F(LimiterTest, LimitsOfTheCallersOwnNeedNoRules) {
  const Limit two = *Limit::FixedWindow({.limit = 2, .window = seconds(60)});
  for (const bool expected : {true, true, false}) {
    check_.Clear();
    check_.AddLimit({.scope = ":throttle", .tag = "alice"}, two, 1);
    limiter_.Decide(check_, now_);
    EXPECT_EQ(check_.ruling, Ruling::kDecided);
    EXPECT_EQ(check_.allowed, expected);
    EXPECT_EQ(check_.matched(0).rule, nullptr);
  }
}

TEST_F(LimiterTest, EnforcementIsForLimitsOfTheCallersOwnToo) {
  const Limit one = *Limit::FixedWindow({.limit = 1, .window = seconds(60)});
  const auto ask = [&](Operation operation = Operation::kCheck) {
    check_.Clear();
    check_.operation = operation;
    check_.AddLimit({.scope = ":throttle", .tag = "alice"}, one, 1);
    limiter_.Decide(check_, now_);
    return check_.allowed;
  };
  settings_.enforcement = Enforcement::kOff;
  EXPECT_TRUE(ask());
  EXPECT_EQ(check_.ruling, Ruling::kNotEnforced);
  EXPECT_TRUE(check_.uses().empty());
  settings_.enforcement = Enforcement::kOn;
  EXPECT_TRUE(ask()) << "while it was off nothing was taken";
  EXPECT_FALSE(ask());
  settings_.enforcement = Enforcement::kShadow;
  EXPECT_TRUE(ask());
  EXPECT_EQ(check_.uses()[0].verdict.outcome, Outcome::kDenied) << "it is still judged";
  settings_.enforcement = Enforcement::kOff;
  ask(Operation::kReset);
  EXPECT_EQ(check_.affected, 1U) << "other operations go on";
}

TEST_F(LimiterTest, AnInspectionTellsOfEachLimit) {
  Load(kThreeAMinute);
  Ask("alice", 5, Operation::kGrant);
  Ask("alice", 6);
  Ask("alice", 0, Operation::kInspect);
  ASSERT_EQ(check_.uses().size(), 1U);
  EXPECT_TRUE(check_.inspection(0).live);
  EXPECT_EQ(check_.inspection(0).level, 2);
  EXPECT_EQ(check_.inspection(0).grant, 0);
}

TEST_F(LimiterTest, ARuleThatHidesIsHeadlineOnlyWhereItDenies) {
  Load(R"(
rules:
  - { id: quiet, headers: false, limit: 1/h }
  - { id: loud, limit: 3/h }
)");
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(check_.matched(check_.decision.index).rule->id, "loud");
  EXPECT_FALSE(Ask("alice").allowed);
  EXPECT_EQ(check_.matched(check_.decision.index).rule->id, "quiet");
}

TEST_F(LimiterTest, AnAnswerThatComesLaterFindsItsRulesThoughTheyHaveChanged) {
  Load(kThreeAMinute);
  store_.answers_later = true;
  check_.Clear();
  check_.Add("api_key", std::string("alice"));
  std::string heard;
  check_.context = &heard;
  check_.on_done = [](CheckRequest& done, void* context) {
    *static_cast<std::string*>(context) = done.matched(0).rule->id;
  };
  ASSERT_EQ(limiter_.Decide(check_, now_), Completion::kLater);
  for (int i = 0; i < 12; ++i) {
    Load("rules: [{ id: other" + std::to_string(i) + ", limit: 1/h }]");
    CheckRequest unused;
    unused.Add("api_key", "bob");
    store_.answers_later = false;
    limiter_.Decide(unused, now_);
    store_.answers_later = true;
  }
  EXPECT_EQ(heard, "");
  store_.AnswerAll();
  EXPECT_EQ(heard, "api");
  EXPECT_TRUE(check_.allowed);
}

// ---- Several at once.

// Tells who passed: "+-?" if the second did not, and the third is not answered yet.
std::string AskedAtOnce(Limiter& limiter, std::deque<CheckRequest>& checks, WallTime now) {
  std::vector<CheckRequest*> all;
  for (CheckRequest& check : checks) all.push_back(&check);
  limiter.DecideBatch(all, now);
  std::string passed;
  for (const CheckRequest& check : checks) {
    passed += check.pending() ? '?' : check.allowed ? '+' : '-';
  }
  return passed;
}

TEST_F(LimiterTest, QuestionsThatAreAskedAtOnceAreAnsweredOneAfterTheOther) {
  Load(kThreeAMinute);
  std::deque<CheckRequest> checks(Limiter::kMostAtOnce);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    checks[i].Add("api_key", i == 1 ? "bob" : "alice");
  }
  checks[5].operation = Operation::kReset;
  EXPECT_EQ(AskedAtOnce(limiter_, checks, now_).substr(0, 5), "++++-");
  EXPECT_EQ(checks[5].affected, 1U);
  EXPECT_EQ(AskedAtOnce(limiter_, checks, now_).substr(6), "+++-------");
}

TEST_F(LimiterTest, NoQuestionsAtOnceAreNoneAtAll) { limiter_.DecideBatch({}, now_); }

TEST_F(LimiterTest, OfQuestionsAtOnceSomeNeedNoStore) {
  Load(R"(
deny: ["mallory"]
rules:
  - { id: api, match: { api_key: "a*" }, limit: 1/s }
)");
  store_.answers_later = true;
  std::deque<CheckRequest> checks(4);
  checks[0].Add("api_key", "mallory");
  checks[1].Add("api_key", "alice");
  checks[2].Add("api_key", "bob");
  checks[3].AddLimit({.scope = "s", .tag = "t"},
                     *Limit::FixedWindow({.limit = 1, .window = seconds(60)}), 2);
  EXPECT_EQ(AskedAtOnce(limiter_, checks, now_), "-?+?");
  EXPECT_EQ(checks[0].ruling, Ruling::kDenyListed);
  EXPECT_EQ(checks[2].ruling, Ruling::kNoRule);
  for (int i = 0; i < 12; ++i) Load("rules: [{ id: o" + std::to_string(i) + ", limit: 1/h }]");
  CheckRequest other;
  other.Add("api_key", "carol");
  limiter_.Decide(other, now_);
  std::string heard;
  checks[1].context = &heard;
  checks[1].on_done = [](CheckRequest& done, void* context) {
    *static_cast<std::string*>(context) = done.matched(0).rule->id;
  };
  store_.AnswerAll();
  EXPECT_EQ(heard, "api");
  EXPECT_TRUE(checks[1].allowed);
  EXPECT_EQ(checks[3].decision.tightest.outcome, Outcome::kNeverFits);
}

// ---- When the store can't tell.

TEST_F(LimiterTest, RulesAreOpenUnlessTheySayOtherwise) {
  Load(kThreeAMinute);
  store_.failure = ErrorCode::kStoreTimeout;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(check_.ruling, Ruling::kDegraded);
  EXPECT_TRUE(check_.degraded);
  EXPECT_EQ(check_.error, ErrorCode::kStoreTimeout);
}

TEST_F(LimiterTest, MoreLimitsThanACallCanMatchAreAnsweredAsAFailedStore) {
  std::string rules = "rules:\n";
  for (std::size_t i = 0; i <= kMaxLimitsPerCall; ++i) {
    rules += "  - { id: r" + std::to_string(i) + ", match: { api_key: alice }, limit: 1/h }\n";
  }
  Load(rules);
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(check_.ruling, Ruling::kDegraded);
  EXPECT_EQ(check_.error, ErrorCode::kTooManyLimits);
  Load(rules + "  - { id: shut, limit: 1/h, on_store_failure: closed }\n");
  EXPECT_FALSE(Ask("alice").allowed);
}

TEST_F(LimiterTest, OneClosedRuleDeniesTheCall) {
  Load(R"(
rules:
  - { id: open, limit: 1/h }
  - { id: closed, limit: 1/h, on_store_failure: closed }
)");
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_FALSE(Ask("alice").allowed);
  EXPECT_EQ(check_.ruling, Ruling::kDegraded);
  EXPECT_EQ(check_.matched(check_.decision.index).rule->id, "closed");
}

TEST_F(LimiterTest, AClosedShadowRuleDeniesNothing) {
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
  EXPECT_EQ(check_.uses()[0].verdict.remaining, 1);
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_FALSE(Ask("alice").allowed);
  EXPECT_TRUE(check_.degraded);
  EXPECT_EQ(check_.decision.tightest.outcome, Outcome::kDenied);
  EXPECT_TRUE(Ask("bob").allowed);
}

TEST_F(LimiterTest, AnErrorOfTheCallerIsNotAFailureOfTheStore) {
  Load(kThreeAMinute);
  EXPECT_EQ(Ask(std::string(kMaxKeyBytes + 1, 'x')).ruling, Ruling::kInvalid);
  EXPECT_EQ(check_.error, ErrorCode::kInvalidKey);
}

// ---- Several servers without their store.

class DegradedTest : public LimiterTest {
 protected:
  void SetUp() override { store_.failure = ErrorCode::kStoreUnavailable; }

  int CountAllowed(std::string_view api_key, int calls, std::string_view ip = {}) {
    int allowed = 0;
    for (int i = 0; i < calls; ++i) {
      check_.Clear();
      check_.Add("api_key", api_key);
      if (!ip.empty()) check_.Add("ip", ip);
      EXPECT_EQ(limiter_.Decide(check_, now_), Completion::kNow);
      EXPECT_TRUE(check_.degraded);
      if (check_.allowed) ++allowed;
    }
    return allowed;
  }
};

TEST_F(DegradedTest, EachOfSeveralServersHasItsShareOfALocalLimit) {
  Load(
      "rules: [{ id: api, algorithm: fixed_window, limit: 10, window: 1h, on_store_failure: local "
      "}]");
  settings_.servers = 4;
  EXPECT_EQ(CountAllowed("alice", 20), 2);
  EXPECT_EQ(check_.decision.tightest.limit, 2);
  settings_.servers = 100;
  EXPECT_EQ(CountAllowed("bob", 20), 1);
}

// What a lease knew when the store last answered.
class LeasedBefore : public DegradedTest {
 protected:
  void Know(std::int64_t left) {
    const store::KeyUse& use = check_.uses()[0];
    const SteadyTime now = SteadyClock::Now();
    const algo::lease::Request request = table_.MakeRequest(use.key, *use.limit, 1, 1, now);
    algo::lease::Grant grant;
    grant.left = left;
    grant.reset_after = std::chrono::hours(1);
    table_.Granted(use.key, *use.limit, request, now, now, grant);
  }

  denial::DenialTable denials_;
  lease::LeaseTable table_{lease::TableOptions{.max_keys = 64}, denials_};
};

TEST_F(LeasedBefore, ALocalLimitBeginsWithItsShareOfWhatWasLeft) {
  Load(
      "rules: [{ id: api, capacity: 1000, refill_rate: 1 per day, consistency: leased, "
      "on_store_failure: local }]");
  settings_.servers = 4;
  limiter_.StartLocalFrom(&table_);
  EXPECT_EQ(CountAllowed("bob", 1), 1);
  EXPECT_EQ(check_.uses()[0].verdict.remaining, 249);
  Know(100);  // Less than what bob has here.
  EXPECT_EQ(CountAllowed("bob", 100), 25);
  Know(800);  // More.
  EXPECT_EQ(CountAllowed("bob", 100), 0);
}

TEST_F(LeasedBefore, AnEmergencyLimitBeginsFull) {
  Load(
      "rules: [{ id: api, capacity: 1000, refill_rate: 1 per day, consistency: leased, "
      "on_store_failure: local, emergency_limit: 60/h }]");
  limiter_.StartLocalFrom(&table_);
  CountAllowed("bob", 1);
  Know(10);
  EXPECT_EQ(CountAllowed("bob", 100), 59);
}

TEST_F(DegradedTest, AnEmergencyLimitIsNotDivided) {
  Load(R"(
rules:
  - { id: api, limit: 100/h, on_store_failure: local,
      emergency_limit: { algorithm: fixed_window, limit: 3, window: 1h } })");
  settings_.servers = 4;
  EXPECT_EQ(CountAllowed("alice", 20), 3);
}

TEST_F(DegradedTest, OpenRulesLetEachAddressPassAsOftenAsTheEmergencyLimitSays) {
  Load("rules: [{ id: api, limit: 1000/h }]");
  settings_.emergency = *Limit::TokenBucket({.capacity = 10, .refill = Rate::PerSecond(10)});
  EXPECT_EQ(CountAllowed("alice", 15, "192.0.2.1"), 10);
  EXPECT_FALSE(check_.allowed);
  EXPECT_EQ(check_.decision.tightest.limit, 10);
  EXPECT_EQ(CountAllowed("bob", 15, "192.0.2.1"), 0) << "the same address";
  EXPECT_EQ(CountAllowed("alice", 15, "192.0.2.2"), 10);
  EXPECT_EQ(CountAllowed("carol", 15), 10) << "without an address, each caller for itself";
  now_ += seconds(1);
  EXPECT_EQ(CountAllowed("alice", 15, "192.0.2.1"), 10);
}

TEST_F(DegradedTest, OtherRulesHaveNothingToDoWithTheEmergencyLimit) {
  Load(
      "rules: [{ id: api, algorithm: fixed_window, limit: 20, window: 1h, on_store_failure: local "
      "}]");
  settings_.emergency = *Limit::TokenBucket({.capacity = 10, .refill = Rate::PerSecond(10)});
  EXPECT_EQ(CountAllowed("alice", 30, "192.0.2.1"), 20);
}

// ---- Limits of rules that the caller has matched itself.

class ChosenLimitsTest : public LimiterTest {
 protected:
  ChosenLimitsTest() {
    const auto report = LoadRules(other_, "other.yaml", R"(
rules:
  - { id: three, algorithm: fixed_window, limit: 3, window: 60 }
  - { id: two, algorithm: fixed_window, limit: 2, window: 60, on_store_failure: closed }
  - { id: none, reject_all: true }
  - { id: lent, limit: 100/s, consistency: leased }
)",
                                  kStart);
    EXPECT_THAT(report.errors, ::testing::IsEmpty());
    rules_ = other_.Active().value;
  }

  const rules::Rule& RuleOf(std::string_view id) const {
    for (const rules::Rule& rule : rules_->file().rules) {
      if (rule.id == id) return rule;
    }
    ADD_FAILURE() << id;
    return rules_->file().rules.front();
  }
  void Add(std::string_view id, const Terms& terms = {}, std::int64_t cost = 1) {
    const rules::Rule& rule = RuleOf(id);
    check_.AddMatched({.rule = &rule,
                       .limit = &rule.variants.usual.front(),
                       .key = {.scope = id, .tag = "t"},
                       .cost = cost},
                      terms);
  }
  bool AskAbout(std::initializer_list<std::string_view> ids) {
    check_.Clear();
    for (const std::string_view id : ids) Add(id);
    limiter_.Decide(check_, now_);
    return check_.allowed;
  }

  Live<match::RuleSet> other_;
  std::shared_ptr<const match::RuleSet> rules_;
};

TEST_F(ChosenLimitsTest, AreEvaluatedTogetherWhateverTheRulesInForceSay) {
  Load("rules: [{ id: api, algorithm: fixed_window, limit: 1, window: 60 }]");
  EXPECT_TRUE(AskAbout({"three", "two"}));
  EXPECT_TRUE(AskAbout({"three", "two"}));
  EXPECT_FALSE(AskAbout({"three", "two"}));
  EXPECT_EQ(check_.matched(check_.decision.index).rule->id, "two");
  EXPECT_EQ(check_.uses()[0].verdict.remaining, 1);
}

TEST_F(ChosenLimitsTest, MayBeLeasedIfTheirRuleSaysSo) {
  AskAbout({"lent", "three"});
  EXPECT_TRUE(check_.uses()[0].may_lease);
  EXPECT_FALSE(check_.uses()[1].may_lease);
}

TEST_F(ChosenLimitsTest, ARuleThatRejectsAllCallsNeedsNoStore) {
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_FALSE(AskAbout({"three", "none"}));
  EXPECT_EQ(check_.ruling, Ruling::kDecided);
  EXPECT_EQ(check_.uses()[1].verdict.outcome, Outcome::kNeverFits);
}

TEST_F(ChosenLimitsTest, InShadowARuleThatRejectsAllCallsDeniesNothing) {
  check_.Clear();
  Add("none", {.mode = Mode::kShadow});
  Add("three");
  limiter_.Decide(check_, now_);
  EXPECT_TRUE(check_.allowed);
  EXPECT_EQ(check_.uses()[0].verdict.outcome, Outcome::kNeverFits);
}

TEST_F(ChosenLimitsTest, TheirRulesSayWhatBecomesOfACallWhileTheStoreFails) {
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_TRUE(AskAbout({"three"}));
  EXPECT_EQ(check_.ruling, Ruling::kDegraded);
  EXPECT_FALSE(AskAbout({"three", "two"}));
  EXPECT_EQ(check_.decision.index, 1);
}

TEST_F(ChosenLimitsTest, QuotasThatDisagreeLetCallsPassWhileTheStoreFails) {
  store_.failure = ErrorCode::kStoreUnavailable;
  check_.Clear();
  Add("two", {.mode = Mode::kQuota});
  limiter_.Decide(check_, now_);
  EXPECT_FALSE(check_.allowed);
  Add("three", {.mode = Mode::kQuota});
  limiter_.Decide(check_, now_);
  EXPECT_TRUE(check_.allowed);
}

TEST_F(ChosenLimitsTest, TheSwitchIsForThemToo) {
  settings_.enforcement = Enforcement::kShadow;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(AskAbout({"two"}));
  EXPECT_EQ(check_.uses()[0].verdict.outcome, Outcome::kDenied);
  settings_.enforcement = Enforcement::kOff;
  EXPECT_TRUE(AskAbout({"none"}));
  EXPECT_EQ(check_.ruling, Ruling::kNotEnforced);
}

TEST_F(ChosenLimitsTest, TermsAreTheCallers) {
  check_.Clear();
  Add("two", {.count_denied = true}, 5);
  limiter_.Decide(check_, now_);
  EXPECT_FALSE(check_.allowed);
  EXPECT_EQ(check_.uses()[0].verdict.remaining, 0);
  check_.Clear();
  Add("three", {.only_looks = true});
  limiter_.Decide(check_, now_);
  EXPECT_EQ(check_.uses()[0].verdict.remaining, 3);
}

TEST_F(ChosenLimitsTest, AreKeptUntilTheCheckIsCleared) {
  store_.answers_later = true;
  Live<int> live;
  const auto load = [&live](const char* fingerprint, int value) {
    live.Load("", fingerprint, kStart, [&]() -> LiveCandidate<int> {
      return {.value = std::make_shared<const int>(value)};
    });
  };
  load("a", 7);
  LiveReader<int> reader(live);
  check_.Clear();
  Add("three");
  check_.Keep(reader.Get());
  const std::weak_ptr<const int> thing = live.Active().value;
  load("b", 8);
  reader.Get();
  EXPECT_EQ(limiter_.Decide(check_, now_), Completion::kLater);
  store_.AnswerAll();
  EXPECT_FALSE(thing.expired());
  check_.Clear();
  EXPECT_TRUE(thing.expired());
}

}  // namespace
}  // namespace sluice::limiter
