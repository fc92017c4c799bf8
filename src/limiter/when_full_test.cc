#include "limiter/when_full.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "limiter/limiter.h"
#include "match/load_rules.h"
#include "store/testing/model_store.h"

namespace sluice::limiter {
namespace {

using std::chrono::hours;
using store::Completion;
using store::KeyKind;
using store::KeyUse;
using store::Operation;

constexpr WallTime kFullStart{std::chrono::seconds(1'900'000'000)};

/// Has no room for new keys once it is full, but for overflow keys.
class FullStore final : public store::Store {
 public:
  Completion Submit(store::StoreCall& call) override {
    bool fits = true;
    for (KeyUse& use : call.uses) {
      std::string name;
      AppendKeyName(use.key, name);
      const bool adds = call.operation == Operation::kCheck && use.cost > 0 && !use.only_looks;
      use.no_room = adds && is_full && !held_.contains(name) &&
                    (use.kind != KeyKind::kOverflow || !keeps_room);
      fits = fits && !use.no_room;
      if (!is_full) held_.insert(name);
    }
    if (fits) return model_.Submit(call);
    call.ok = false;
    call.error = ErrorCode::kStoreFull;
    return Completion::kNow;
  }
  void SubmitBatch(std::span<store::StoreCall* const> calls) override {
    for (store::StoreCall* call : calls) Submit(*call);
  }

  bool is_full = false;
  bool keeps_room = true;

 private:
  store::testing::ModelStore model_;
  std::set<std::string> held_;
};

class WhenFullTest : public ::testing::Test {
 protected:
  void Load(std::string_view yaml) {
    const LoadReport report = LoadRules(live_, "rules.yaml", yaml, kFullStart);
    ASSERT_EQ(report.outcome, LoadOutcome::kActivated);
  }

  const CheckRequest& Ask(std::string_view api_key, Operation operation = Operation::kCheck,
                          std::uint64_t slot = 0) {
    check_.Clear();
    check_.operation = operation;
    check_.slot = slot;
    check_.Add("api_key", api_key);
    EXPECT_EQ(limiter_.Decide(check_, now_), Completion::kNow);
    return check_;
  }

  const CheckRequest& AskOwn(std::string_view name) {
    check_.Clear();
    check_.AddLimit({.scope = ":throttle", .tag = name}, own_, 1);
    EXPECT_EQ(limiter_.Decide(check_, now_), Completion::kNow);
    return check_;
  }

  WallTime now_ = kFullStart;
  Limit own_ = *Limit::FixedWindow({.limit = 5, .window = hours(1)});
  FullStore store_;
  FullStore fallback_;
  Live<match::RuleSet> live_;
  LiveReader<match::RuleSet> reader_{live_};
  Settings settings_;
  Limiter limiter_{store_, &fallback_, reader_, settings_};
  CheckRequest check_;
};

TEST_F(WhenFullTest, NewcomersShareOneBudget) {
  Load("rules: [{ id: api, limit: 3/h, algorithm: fixed_window, per: [api_key] }]");
  Ask("held");
  store_.is_full = true;
  for (int i = 0; i < 3; ++i) {
    const CheckRequest& check = Ask("new" + std::to_string(i));
    EXPECT_TRUE(check.allowed);
    EXPECT_TRUE(check.degraded);
    EXPECT_EQ(check.ruling, Ruling::kDecided);
    EXPECT_EQ(check.full, FullOutcome::kShared);
    EXPECT_EQ(check.decision.tightest.remaining, 2 - i);
  }
  EXPECT_FALSE(Ask("new3").allowed);
  EXPECT_TRUE(Ask("held").allowed);
  EXPECT_FALSE(check_.degraded);
  EXPECT_EQ(check_.full, FullOutcome::kNone);
}

TEST_F(WhenFullTest, OnStoreFailureHasNoSay) {
  Load(R"(
rules:
  - { id: a, match: { api_key: "a*" }, limit: 1/h, on_store_failure: closed, when_full: open }
  - { id: b, match: { api_key: "b*" }, limit: 1/h, on_store_failure: open, when_full: closed }
)");
  store_.is_full = true;
  EXPECT_TRUE(Ask("a").allowed);
  EXPECT_EQ(check_.full, FullOutcome::kOpen);
  EXPECT_FALSE(Ask("b").allowed);
  EXPECT_EQ(check_.full, FullOutcome::kClosed);
  EXPECT_EQ(check_.ruling, Ruling::kDegraded);
  EXPECT_EQ(check_.error, ErrorCode::kStoreFull);
}

TEST_F(WhenFullTest, LimitsWithRoomAreEvaluatedAsEver) {
  Load(R"(
rules:
  - { id: all, limit: 2/h, algorithm: fixed_window, per: [] }
  - { id: each, limit: 1/h, per: [api_key], when_full: open }
)");
  Ask("held");
  store_.is_full = true;
  EXPECT_TRUE(Ask("new").allowed);
  EXPECT_EQ(check_.uses()[1].cost, 1);
  EXPECT_FALSE(Ask("newer").allowed) << "the budget of all calls is used up";
}

TEST_F(WhenFullTest, AShadowRuleDoesNotCloseACall) {
  Load("rules: [{ id: api, limit: 1/h, shadow: true, when_full: closed }]");
  store_.is_full = true;
  EXPECT_TRUE(Ask("new").allowed);
}

TEST_F(WhenFullTest, WithoutRoomForTheSharedBudgetACallIsDenied) {
  Load("rules: [{ id: api, limit: 1/h }]");
  store_.is_full = true;
  store_.keeps_room = false;
  EXPECT_FALSE(Ask("new").allowed);
  EXPECT_EQ(check_.full, FullOutcome::kClosed);
}

TEST_F(WhenFullTest, TheLocalFallbackFollowsItToo) {
  Load("rules: [{ id: api, limit: 3/h, on_store_failure: local, algorithm: fixed_window }]");
  store_.is_full = true;
  fallback_.is_full = true;
  class Down final : public store::Store {
   public:
    Completion Submit(store::StoreCall& call) override {
      call.ok = false;
      call.error = ErrorCode::kStoreUnavailable;
      return Completion::kNow;
    }
    void SubmitBatch(std::span<store::StoreCall* const> calls) override {
      for (store::StoreCall* call : calls) Submit(*call);
    }
  } down;
  Limiter limiter(down, &fallback_, reader_, settings_);
  int allowed = 0;
  for (int i = 0; i < 10; ++i) {
    check_.Clear();
    check_.Add("api_key", "new" + std::to_string(i));
    limiter.Decide(check_, now_);
    allowed += check_.allowed ? 1 : 0;
  }
  EXPECT_EQ(allowed, 3);
}

TEST_F(WhenFullTest, SlotsOfASharedBudgetAreReleasedByTheirHolder) {
  Load("rules: [{ id: api, algorithm: concurrency, limit: 1 }]");
  settings_.bounded_store = true;
  store_.is_full = true;
  EXPECT_TRUE(Ask("new", Operation::kCheck, 7).allowed);
  EXPECT_FALSE(Ask("newer", Operation::kCheck, 8).allowed);
  EXPECT_EQ(Ask("new", Operation::kRenew, 7).affected, 1U);
  EXPECT_EQ(Ask("new", Operation::kRelease, 7).affected, 1U);
  EXPECT_TRUE(Ask("newer", Operation::kCheck, 8).allowed);
}

TEST_F(WhenFullTest, VariantsOfALimitDoNotShareABudget) {
  Load(R"(
rules:
  - id: api
    algorithm: fixed_window
    limit: 1
    window: 3600
    per: [api_key]
    overrides: { "big*": { limit: 100 } }
)");
  store_.is_full = true;
  EXPECT_TRUE(Ask("new").allowed);
  EXPECT_FALSE(Ask("newer").allowed);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Ask("big" + std::to_string(i)).allowed);
  EXPECT_FALSE(Ask("big").allowed);
  EXPECT_FALSE(Ask("newest").allowed);
}

TEST_F(WhenFullTest, LimitsOfCallersAreRefusedAndNeverOpen) {
  AskOwn("held");
  store_.is_full = true;
  const CheckRequest& check = AskOwn("new");
  EXPECT_FALSE(check.allowed);
  EXPECT_EQ(check.ruling, Ruling::kDegraded);
  EXPECT_EQ(check.error, ErrorCode::kStoreFull);
  EXPECT_EQ(check.full, FullOutcome::kRefused);
  EXPECT_EQ(check.uses()[0].kind, KeyKind::kFromCaller);
  EXPECT_TRUE(AskOwn("held").allowed);
}

TEST_F(WhenFullTest, ASettlementOfARuleIsNoLimitOfTheCaller) {
  check_.Clear();
  check_.operation = Operation::kAdjust;
  check_.AddLimit({.scope = "rule:limit", .tag = "x"}, own_, 1);
  check_.SetOfRule();
  limiter_.Decide(check_, now_);
  EXPECT_EQ(check_.uses()[0].kind, KeyKind::kOrdinary);
}

// ---- A store that is not bounded

class CallerKeysTest : public WhenFullTest {
 protected:
  CallerKeysTest() { settings_.caller_keys = census_.get(); }

  std::unique_ptr<store::KeyCensus> census_ = std::move(store::KeyCensus::Create(3)).value();
};

TEST_F(CallerKeysTest, PastTheirBoundNewOnesAreRefusedAndKnownOnesAreNot) {
  for (const std::string_view name : {"a", "b", "c"}) EXPECT_TRUE(AskOwn(name).allowed);
  EXPECT_FALSE(AskOwn("d").allowed);
  EXPECT_EQ(check_.full, FullOutcome::kRefused);
  EXPECT_EQ(check_.error, ErrorCode::kStoreFull);
  EXPECT_TRUE(AskOwn("b").allowed);
}

TEST_F(CallerKeysTest, ThereIsRoomOnceTheyHaveExpiredOrWereReset) {
  for (const std::string_view name : {"a", "b", "c"}) AskOwn(name);
  check_.Clear();
  check_.operation = Operation::kReset;
  check_.AddLimit({.scope = ":throttle", .tag = "a"}, own_, 0);
  limiter_.Decide(check_, now_);
  EXPECT_TRUE(AskOwn("d").allowed);
  EXPECT_FALSE(AskOwn("e").allowed);
  now_ += 3 * hours(1);
  EXPECT_TRUE(AskOwn("e").allowed);
}

TEST_F(CallerKeysTest, SettledReceiptsAreCountedLikeKeys) {
  WallTime end = now_ + hours(1);
  const auto cancel = [&](std::string_view name, std::uint64_t receipt = 1) -> const CheckRequest& {
    check_.Clear();
    check_.operation = Operation::kAdjust;
    check_.AddLimit({.scope = ":check", .tag = name}, own_, 0);
    check_.SetReceipt({.amount = 1});
    check_.SetSettlement({.receipt = receipt, .expires = end});
    limiter_.Decide(check_, now_);
    return check_;
  };
  EXPECT_EQ(cancel("a").ruling, Ruling::kDecided);
  EXPECT_EQ(cancel("b", 1).ruling, Ruling::kDecided);
  EXPECT_EQ(cancel("b", 2).ruling, Ruling::kDecided);
  EXPECT_EQ(census_->Count(now_), 3U);
  EXPECT_EQ(cancel("d").ruling, Ruling::kDegraded);
  EXPECT_EQ(check_.error, ErrorCode::kStoreFull);
  EXPECT_EQ(cancel("b").ruling, Ruling::kDecided) << "a known one is answered";
  now_ += 2 * hours(1);
  end = now_ + hours(1);
  EXPECT_EQ(cancel("d").ruling, Ruling::kDecided);
}

TEST_F(CallerKeysTest, KeysOfRulesAreNotCounted) {
  Load("rules: [{ id: api, limit: 3/h }]");
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Ask(std::to_string(i)).allowed);
  EXPECT_EQ(census_->Count(now_), 0U);
}

TEST_F(CallerKeysTest, InShadowTheyAreNotRefused) {
  settings_.enforcement = Enforcement::kShadow;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(AskOwn(std::to_string(i)).allowed);
}

}  // namespace
}  // namespace sluice::limiter
