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

TEST_F(LimiterTest, EnforcementIsForLimitsOfTheCallersOwnToo) {
  const Limit one = *Limit::FixedWindow({.limit = 1, .window = seconds(60)});
  const auto ask = [&](Operation operation = Operation::kCheck) {
    question_.Clear();
    question_.operation = operation;
    question_.AddLimit({.scope = ":throttle", .tag = "alice"}, one, 1);
    limiter_.Ask(question_, now_);
    return question_.allowed;
  };
  settings_.enforcement = Enforcement::kOff;
  EXPECT_TRUE(ask());
  EXPECT_EQ(question_.ruling, Ruling::kNotEnforced);
  EXPECT_TRUE(question_.uses().empty());
  settings_.enforcement = Enforcement::kOn;
  EXPECT_TRUE(ask()) << "while it was off nothing was taken";
  EXPECT_FALSE(ask());
  settings_.enforcement = Enforcement::kShadow;
  EXPECT_TRUE(ask());
  EXPECT_EQ(question_.uses()[0].verdict.outcome, Outcome::kDenied) << "it is still judged";
  settings_.enforcement = Enforcement::kOff;
  ask(Operation::kReset);
  EXPECT_EQ(question_.affected, 1U) << "what is no check goes on";
}

TEST_F(LimiterTest, AnInspectionTellsOfEachLimit) {
  Load(kThreeAMinute);
  Ask("alice", 5, Operation::kGrant);
  Ask("alice", 6);
  Ask("alice", 0, Operation::kInspect);
  ASSERT_EQ(question_.uses().size(), 1U);
  EXPECT_TRUE(question_.inspection(0).live);
  EXPECT_EQ(question_.inspection(0).level, 2);
  EXPECT_EQ(question_.inspection(0).grant, 0);
}

TEST_F(LimiterTest, ARuleThatHidesIsHeadlineOnlyWhereItDenies) {
  Load(R"(
rules:
  - { id: quiet, headers: false, limit: 1/h }
  - { id: loud, limit: 3/h }
)");
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(question_.met(question_.headline.index).rule->id, "loud");
  EXPECT_FALSE(Ask("alice").allowed);
  EXPECT_EQ(question_.met(question_.headline.index).rule->id, "quiet");
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

// ---- Several at once.

// Tells who passed: "+-?" if the second did not, and the third is not answered yet.
std::string AskedAtOnce(Limiter& limiter, std::deque<Question>& questions, WallTime now) {
  std::vector<Question*> all;
  for (Question& question : questions) all.push_back(&question);
  limiter.AskBatch(all, now);
  std::string passed;
  for (const Question& question : questions) {
    passed += question.pending() ? '?' : question.allowed ? '+' : '-';
  }
  return passed;
}

TEST_F(LimiterTest, QuestionsThatAreAskedAtOnceAreAnsweredOneAfterTheOther) {
  Load(kThreeAMinute);
  std::deque<Question> questions(Limiter::kMostAtOnce);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    questions[i].Add("api_key", i == 1 ? "bob" : "alice");
  }
  questions[5].operation = Operation::kReset;
  EXPECT_EQ(AskedAtOnce(limiter_, questions, now_).substr(0, 5), "++++-");
  EXPECT_EQ(questions[5].affected, 1U);
  EXPECT_EQ(AskedAtOnce(limiter_, questions, now_).substr(6), "+++-------");
}

TEST_F(LimiterTest, NoQuestionsAtOnceAreNoneAtAll) { limiter_.AskBatch({}, now_); }

TEST_F(LimiterTest, OfQuestionsAtOnceSomeNeedNoStore) {
  Load(R"(
deny: ["mallory"]
rules:
  - { id: api, match: { api_key: "a*" }, limit: 1/s }
)");
  store_.answers_later = true;
  std::deque<Question> questions(4);
  questions[0].Add("api_key", "mallory");
  questions[1].Add("api_key", "alice");
  questions[2].Add("api_key", "bob");
  questions[3].AddLimit({.scope = "s", .tag = "t"},
                        *Limit::FixedWindow({.limit = 1, .window = seconds(60)}), 2);
  EXPECT_EQ(AskedAtOnce(limiter_, questions, now_), "-?+?");
  EXPECT_EQ(questions[0].ruling, Ruling::kDenyListed);
  EXPECT_EQ(questions[2].ruling, Ruling::kNoRule);
  for (int i = 0; i < 12; ++i) Load("rules: [{ id: o" + std::to_string(i) + ", limit: 1/h }]");
  Question other;
  other.Add("api_key", "carol");
  limiter_.Ask(other, now_);
  std::string heard;
  questions[1].context = &heard;
  questions[1].on_done = [](Question& done, void* context) {
    *static_cast<std::string*>(context) = done.met(0).rule->id;
  };
  store_.AnswerAll();
  EXPECT_EQ(heard, "api");
  EXPECT_TRUE(questions[1].allowed);
  EXPECT_EQ(questions[3].headline.headline.outcome, Outcome::kNeverFits);
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

TEST_F(LimiterTest, MoreLimitsThanACallCanMeetAreAnsweredAsAStoreThatFailed) {
  std::string rules = "rules:\n";
  for (std::size_t i = 0; i <= kMaxLimitsPerCall; ++i) {
    rules += "  - { id: r" + std::to_string(i) + ", match: { api_key: alice }, limit: 1/h }\n";
  }
  Load(rules);
  EXPECT_TRUE(Ask("alice").allowed);
  EXPECT_EQ(question_.ruling, Ruling::kDegraded);
  EXPECT_EQ(question_.error, ErrorCode::kTooManyLimits);
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

// ---- Several servers without their store.

class DegradedTest : public LimiterTest {
 protected:
  void SetUp() override { store_.failure = ErrorCode::kStoreUnavailable; }

  int CountAllowed(std::string_view api_key, int calls, std::string_view ip = {}) {
    int allowed = 0;
    for (int i = 0; i < calls; ++i) {
      question_.Clear();
      question_.Add("api_key", api_key);
      if (!ip.empty()) question_.Add("ip", ip);
      EXPECT_EQ(limiter_.Ask(question_, now_), Answered::kNow);
      EXPECT_TRUE(question_.degraded);
      if (question_.allowed) ++allowed;
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
  EXPECT_EQ(question_.headline.headline.limit, 2);
  settings_.servers = 100;
  EXPECT_EQ(CountAllowed("bob", 20), 1);
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
  EXPECT_FALSE(question_.allowed);
  EXPECT_EQ(question_.headline.headline.limit, 10);
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

// ---- Limits of rules that the caller has met itself.

class ChosenLimitsTest : public LimiterTest {
 protected:
  ChosenLimitsTest() {
    const auto report = other_.Load("other.yaml", R"(
rules:
  - { id: three, algorithm: fixed_window, limit: 3, window: 60 }
  - { id: two, algorithm: fixed_window, limit: 2, window: 60, on_store_failure: closed }
  - { id: none, reject_all: true }
  - { id: lent, limit: 100/s, consistency: leased }
)",
                                    kStart);
    for (const rules::Mistake& mistake : report.mistakes) ADD_FAILURE() << Describe(mistake);
  }

  const rules::Rule& RuleOf(std::string_view id) const {
    for (const rules::Rule& rule : other_.Active()->file().rules) {
      if (rule.id == id) return rule;
    }
    ADD_FAILURE() << id;
    return other_.Active()->file().rules.front();
  }
  void Add(std::string_view id, const Terms& terms = {}, std::int64_t cost = 1) {
    const rules::Rule& rule = RuleOf(id);
    question_.AddMet({.rule = &rule,
                      .limit = &rule.variants.usual.front(),
                      .key = {.scope = id, .tag = "t"},
                      .cost = cost},
                     terms);
  }
  bool AskAbout(std::initializer_list<std::string_view> ids) {
    question_.Clear();
    for (const std::string_view id : ids) Add(id);
    limiter_.Ask(question_, now_);
    return question_.allowed;
  }

  rules::LiveRules other_;
};

TEST_F(ChosenLimitsTest, AreJudgedTogetherWhateverTheRulesInForceSay) {
  Load("rules: [{ id: api, algorithm: fixed_window, limit: 1, window: 60 }]");
  EXPECT_TRUE(AskAbout({"three", "two"}));
  EXPECT_TRUE(AskAbout({"three", "two"}));
  EXPECT_FALSE(AskAbout({"three", "two"}));
  EXPECT_EQ(question_.met(question_.headline.index).rule->id, "two");
  EXPECT_EQ(question_.uses()[0].verdict.remaining, 1);
}

TEST_F(ChosenLimitsTest, MayBeLeasedIfTheirRuleSaysSo) {
  AskAbout({"lent", "three"});
  EXPECT_TRUE(question_.uses()[0].may_lease);
  EXPECT_FALSE(question_.uses()[1].may_lease);
}

TEST_F(ChosenLimitsTest, ARuleThatLetsNobodyPassNeedsNoStore) {
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_FALSE(AskAbout({"three", "none"}));
  EXPECT_EQ(question_.ruling, Ruling::kDecided);
  EXPECT_EQ(question_.uses()[1].verdict.outcome, Outcome::kNeverFits);
}

TEST_F(ChosenLimitsTest, InShadowARuleThatLetsNobodyPassDeniesNothing) {
  question_.Clear();
  Add("none", {.mode = Mode::kShadow});
  Add("three");
  limiter_.Ask(question_, now_);
  EXPECT_TRUE(question_.allowed);
  EXPECT_EQ(question_.uses()[0].verdict.outcome, Outcome::kNeverFits);
}

TEST_F(ChosenLimitsTest, TheirRulesSayWhatBecomesOfACallWhileTheStoreFails) {
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_TRUE(AskAbout({"three"}));
  EXPECT_EQ(question_.ruling, Ruling::kDegraded);
  EXPECT_FALSE(AskAbout({"three", "two"}));
  EXPECT_EQ(question_.headline.index, 1);
}

TEST_F(ChosenLimitsTest, QuotasThatDisagreeLetCallsPassWhileTheStoreFails) {
  store_.failure = ErrorCode::kStoreUnavailable;
  question_.Clear();
  Add("two", {.mode = Mode::kQuota});
  limiter_.Ask(question_, now_);
  EXPECT_FALSE(question_.allowed);
  Add("three", {.mode = Mode::kQuota});
  limiter_.Ask(question_, now_);
  EXPECT_TRUE(question_.allowed);
}

TEST_F(ChosenLimitsTest, TheSwitchIsForThemToo) {
  settings_.enforcement = Enforcement::kShadow;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(AskAbout({"two"}));
  EXPECT_EQ(question_.uses()[0].verdict.outcome, Outcome::kDenied);
  settings_.enforcement = Enforcement::kOff;
  EXPECT_TRUE(AskAbout({"none"}));
  EXPECT_EQ(question_.ruling, Ruling::kNotEnforced);
}

TEST_F(ChosenLimitsTest, TermsAreTheCallers) {
  question_.Clear();
  Add("two", {.count_denied = true}, 5);
  limiter_.Ask(question_, now_);
  EXPECT_FALSE(question_.allowed);
  EXPECT_EQ(question_.uses()[0].verdict.remaining, 0);
  question_.Clear();
  Add("three", {.only_looks = true});
  limiter_.Ask(question_, now_);
  EXPECT_EQ(question_.uses()[0].verdict.remaining, 3);
}

TEST_F(ChosenLimitsTest, AreHeldUntilTheStoreHasAnswered) {
  store_.answers_later = true;
  struct Holder {
    std::shared_ptr<const int> thing = std::make_shared<const int>(7);
  } holder;
  question_.Clear();
  Add("three");
  question_.SetHolder(
      [](void* context) -> std::shared_ptr<const void> {
        return std::move(static_cast<Holder*>(context)->thing);
      },
      &holder);
  const std::weak_ptr<const int> thing = holder.thing;
  bool was_there = false;
  question_.on_done = [](Question& /*question*/, void* context) {
    (*static_cast<std::function<void()>*>(context))();
  };
  std::function<void()> note = [&] { was_there = !thing.expired(); };
  question_.context = &note;
  EXPECT_EQ(limiter_.Ask(question_, now_), Answered::kLater);
  EXPECT_FALSE(thing.expired());
  store_.AnswerAll();
  EXPECT_TRUE(was_there);
  EXPECT_TRUE(thing.expired());
}

}  // namespace
}  // namespace sluice::limiter
