#include "lease/leased_store.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "algo/state.h"
#include "algo/testing/choices.h"
#include "denial/denial_store.h"
#include "lease/testing/lending_store.h"

namespace sluice::lease::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::Completion;
using store::KeyUse;
using store::Operation;
using store::StoreCall;

/// A call with all that it points to.
struct Asked {
  std::vector<KeyUse> uses;
  StoreCall call;
  Completion answered{};
  int times_done = 0;

  [[nodiscard]] bool at_once() const { return answered == Completion::kNow; }
  [[nodiscard]] bool allowed() const { return call.ok && call.allowed; }
};

class LeasedStoreTest : public ::testing::Test {
 protected:
  Asked& Ask(std::vector<const Limit*> limits, std::int64_t cost = 1,
             Operation operation = Operation::kCheck) {
    Asked& asked = asked_.emplace_back();
    for (const Limit* limit : limits) {
      KeyUse& use = asked.uses.emplace_back();
      use.key = {.scope = "rule:limit", .tag = limit == &scarce_ ? "scarce" : "plenty"};
      use.limit = limit;
      use.cost = cost;
      use.may_lease = true;
    }
    asked.call.operation = operation;
    asked.call.uses = asked.uses;
    asked.call.timeout = timeout_;
    asked.call.context = &asked;
    asked.call.on_done = [](StoreCall& /*call*/, void* context) {
      ++static_cast<Asked*>(context)->times_done;
    };
    asked.answered = leased_.Submit(asked.call);
    return asked;
  }
  Asked& AskAndPump(std::vector<const Limit*> limits, std::int64_t cost = 1) {
    Asked& asked = Ask(std::move(limits), cost);
    store_.Pump();
    return asked;
  }
  void Pass(Micros time) {
    store_.now += time;
    now_ += time;
  }

  Limit plenty_ = *Limit::TokenBucket({.capacity = 1'000, .refill = Rate::PerSecond(1'000)});
  Limit scarce_ = *Limit::TokenBucket({.capacity = 60, .refill = Rate::PerHour(60)});
  SteadyTime now_{std::chrono::hours(5)};
  Micros timeout_{0};
  SteadyTime woken_{};  ///< When ExpireCalls is due.
  LendingStore store_;
  denial::DenialTable denials_;
  LeaseTable table_{TableOptions{.max_keys = 100, .calls_before_lease = 0}, denials_};
  denial::DenialStore remembering_{store_, denials_, {.now = [this] { return now_; }}};
  LeasedStore leased_{
      remembering_,
      table_,
      {.now = [this] { return now_; }, .wake = [this](SteadyTime when) { woken_ = when; }}};
  std::deque<Asked> asked_;
};

TEST_F(LeasedStoreTest, TheFirstCheckFetchesALeaseThatTheNextOnesSpend) {
  const Asked& first = Ask({&plenty_});
  EXPECT_FALSE(first.at_once());
  store_.Pump();
  EXPECT_TRUE(first.allowed());
  EXPECT_EQ(first.times_done, 1);
  EXPECT_EQ(first.uses[0].receipt.amount, 1);
  for (int i = 0; i < 10; ++i) {
    const Asked& next = Ask({&plenty_});
    EXPECT_TRUE(next.at_once());
    EXPECT_TRUE(next.allowed());
    EXPECT_EQ(next.uses[0].verdict.remaining, 1'000 - 2 - i);
    EXPECT_EQ(next.uses[0].verdict.reset_after, milliseconds(2 + i));
  }
  EXPECT_EQ(store_.calls, 1);
}

TEST_F(LeasedStoreTest, ChecksThatWaitForOneKeyShareItsRequests) {
  for (int i = 0; i < 40; ++i) Ask({&plenty_});
  EXPECT_EQ(store_.calls, 1);
  store_.Pump();
  EXPECT_LE(store_.calls, 3);
  for (const Asked& asked : asked_) {
    EXPECT_TRUE(asked.allowed());
    EXPECT_EQ(asked.times_done, 1);
  }
}

TEST_F(LeasedStoreTest, AShortTimeoutEndsOneWaitAndFailsNoOtherCall) {
  const Asked& patient = Ask({&plenty_});
  timeout_ = milliseconds(9);
  const Asked& slower = Ask({&plenty_});
  timeout_ = milliseconds(4);
  const Asked& hurried = Ask({&plenty_});
  const SteadyTime began = now_;
  EXPECT_EQ(woken_, began + milliseconds(4));
  Pass(milliseconds(4));
  leased_.ExpireCalls();
  EXPECT_EQ(hurried.times_done, 1);
  EXPECT_FALSE(hurried.call.ok);
  EXPECT_EQ(hurried.call.error, ErrorCode::kStoreTimeout);
  EXPECT_EQ(patient.times_done + slower.times_done, 0);
  EXPECT_EQ(woken_, began + milliseconds(9));
  store_.Pump();
  EXPECT_TRUE(patient.allowed());
  EXPECT_TRUE(slower.allowed());
  leased_.ExpireCalls();
  for (const Asked& asked : asked_) EXPECT_EQ(asked.times_done, 1);
}

TEST_F(LeasedStoreTest, ASynchronousStoreIsAnsweredSynchronously) {
  store_.answers_at_once = true;
  const Asked& asked = Ask({&plenty_});
  EXPECT_TRUE(asked.at_once());
  EXPECT_TRUE(asked.allowed());
  EXPECT_EQ(asked.times_done, 0);
}

TEST_F(LeasedStoreTest, ADenialIsRememberedUntilItIsOver) {
  int allowed = 0;
  for (int i = 0; i < 80; ++i) allowed += AskAndPump({&scarce_}).allowed() ? 1 : 0;
  EXPECT_EQ(allowed, 60);
  const int calls = store_.calls;
  const Asked& denied = Ask({&scarce_});
  EXPECT_TRUE(denied.at_once());
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.uses[0].verdict.outcome, Outcome::kDenied);
  EXPECT_EQ(store_.calls, calls);
  // A minute for a token, had the last lease not kept the bucket from refilling for a while.
  Pass(denied.uses[0].verdict.retry_after);
  EXPECT_TRUE(AskAndPump({&scarce_}).allowed());
}

TEST_F(LeasedStoreTest, ACostlierCallThanTheDeniedOneHasALongerRetryAfter) {
  for (int i = 0; i < 80; ++i) AskAndPump({&scarce_});
  const Micros for_one = Ask({&scarce_}).uses[0].verdict.retry_after;
  const Asked& ten = Ask({&scarce_}, 10);
  EXPECT_TRUE(ten.at_once());
  EXPECT_FALSE(ten.allowed());
  EXPECT_EQ(ten.uses[0].verdict.retry_after, for_one + std::chrono::minutes(9));
  Pass(ten.uses[0].verdict.retry_after);
  EXPECT_TRUE(AskAndPump({&scarce_}, 10).allowed());
}

TEST_F(LeasedStoreTest, AResetEndsDenials) {
  for (int i = 0; i < 80; ++i) AskAndPump({&scarce_});
  EXPECT_FALSE(AskAndPump({&scarce_}).allowed());
  Ask({&scarce_}, 0, Operation::kReset);
  store_.Pump();
  EXPECT_TRUE(AskAndPump({&scarce_}).allowed());
}

TEST_F(LeasedStoreTest, AnyThreadCanBeAnsweredFromWhatIsHeld) {
  bool wants_more = false;
  Asked& asked = AskAndPump({&plenty_});
  EXPECT_TRUE(AnswerFrom(table_, asked.call, now_, wants_more));
  EXPECT_TRUE(asked.allowed());
  EXPECT_FALSE(wants_more);
  asked.uses[0].cost = 900;
  EXPECT_FALSE(AnswerFrom(table_, asked.call, now_, wants_more));
  asked.uses[0].cost = 1;
  asked.uses[0].may_lease = false;
  EXPECT_FALSE(AnswerFrom(table_, asked.call, now_, wants_more));
}

TEST_F(LeasedStoreTest, ACallOverTwoLimitsIsAnsweredAtOnceIfBothHaveTokens) {
  AskAndPump({&plenty_});
  AskAndPump({&scarce_});
  const Asked& both = Ask({&plenty_, &scarce_});
  EXPECT_TRUE(both.at_once());
  EXPECT_TRUE(both.allowed());
}

TEST_F(LeasedStoreTest, ACallThatOneLimitDeniesTakesNothingFromTheOther) {
  for (int i = 0; i < 80; ++i) AskAndPump({&scarce_});
  AskAndPump({&plenty_});
  const std::int64_t held = table_.StatsApprox().outstanding;
  const Asked& denied = Ask({&plenty_, &scarce_});
  EXPECT_TRUE(denied.at_once());
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.uses[0].verdict.outcome, Outcome::kAllowed);
  EXPECT_EQ(denied.uses[0].receipt, Receipt{});
  EXPECT_EQ(table_.StatsApprox().outstanding, held);
}

TEST_F(LeasedStoreTest, HeldTokensAreSpentWhileTheStoreFails) {
  AskAndPump({&plenty_});
  store_.fails = true;
  int allowed = 0;
  while (AskAndPump({&plenty_}).allowed()) ++allowed;
  EXPECT_EQ(allowed, 16);
  EXPECT_FALSE(asked_.back().call.ok);
  EXPECT_EQ(asked_.back().call.error, ErrorCode::kStoreUnavailable);
}

TEST_F(LeasedStoreTest, ALeaseIsOverAtItsDeadline) {
  AskAndPump({&plenty_});
  now_ += algo::lease::kLongLease;
  store_.fails = true;
  EXPECT_FALSE(AskAndPump({&plenty_}).allowed());
}

TEST_F(LeasedStoreTest, IdleTokensAreReturned) {
  for (int i = 0; i < 45; ++i) AskAndPump({&scarce_});
  EXPECT_GT(table_.StatsApprox().outstanding, 0);
  Pass(milliseconds(100));
  leased_.Sweep();
  store_.Pump();
  EXPECT_EQ(table_.StatsApprox().outstanding, 0);
  EXPECT_EQ(store_.Left("scarce", scarce_), 15);
}

TEST_F(LeasedStoreTest, RecalledTokensAreReturned) {
  AskAndPump({&plenty_});
  leased_.GiveBack(asked_.front().uses[0].key);
  store_.Pump();
  EXPECT_EQ(store_.Outstanding("plenty"), 1);
  EXPECT_EQ(table_.StatsApprox().outstanding, 1);
}

TEST_F(LeasedStoreTest, CallsThatMayNotLeaseGoToTheStore) {
  AskAndPump({&plenty_});
  Asked& shadow = asked_.emplace_back();
  shadow.uses.resize(1);
  shadow.uses[0].key = {.scope = "rule:limit", .tag = "plenty"};
  shadow.uses[0].limit = &plenty_;
  shadow.uses[0].may_lease = true;
  shadow.uses[0].mode = Mode::kShadow;
  shadow.call.uses = shadow.uses;
  EXPECT_EQ(leased_.Submit(shadow.call), Completion::kLater);
  store_.Pump();
  EXPECT_TRUE(shadow.call.ok);
}

// ---- Whatever comes

/// Nodes that lease from one store, and an oracle of each limit that sees every admission.
class RandomNodes {
 public:
  explicit RandomNodes(std::uint64_t seed) : choices_(seed) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      denials_.push_back(std::make_unique<denial::DenialTable>());
      tables_.push_back(std::make_unique<LeaseTable>(TableOptions{.max_keys = 100}, *denials_[i]));
      remembering_.push_back(std::make_unique<denial::DenialStore>(
          store_, *denials_[i], denial::StoreOptions{.now = [this] { return now_; }}));
      nodes_.push_back(std::make_unique<LeasedStore>(
          *remembering_[i], *tables_[i],
          LeasedStoreOptions{
              .now = [this] { return now_; },
              .recall = [this](const Key& key) { recalls_.emplace_back(key.tag); }}));
    }
    for (std::size_t i = 0; i < kLimits; ++i) judges_.push_back(Judge(i));
  }

  void Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      switch (choices_.Below(8)) {
        case 0:
          Pass(Micros{choices_.Between(0, choices_.OneOf<std::int64_t>({10, 2'000, 60'000}))});
          break;
        case 1:
        case 2:
          store_.PumpOne(choices_.Below(100));
          break;
        case 3:
          if (choices_.OneIn(4)) AnyNode().Sweep();
          AnyNode().ExpireCalls();
          GiveBackOne();
          break;
        default:
          Ask();
      }
    }
    store_.Pump();
  }

  void ExpectEveryCallWasAnsweredOnce() const {
    for (const Asked& asked : asked_) {
      EXPECT_FALSE(asked.call.pending);
      EXPECT_EQ(asked.times_done, asked.at_once() ? 0 : 1);
    }
  }
  [[nodiscard]] std::int64_t over() const { return over_; }
  [[nodiscard]] std::int64_t admitted() const { return admitted_; }

 private:
  static constexpr std::size_t kNodes = 3;
  static constexpr std::size_t kLimits = 3;

  algo::State Judge(std::size_t limit) const {
    return algo::Fresh(limits_[limit].numbers(), store_.now);
  }
  LeasedStore& AnyNode() { return *nodes_[choices_.Below(kNodes)]; }
  void Pass(Micros time) {
    store_.now += time;
    now_ += time;
  }
  void GiveBackOne() {
    if (recalls_.empty()) return;
    AnyNode().GiveBack({.scope = "rule:limit", .tag = recalls_.back()});
    recalls_.pop_back();
  }

  /// One or several limits, each at most once.
  void Ask() {
    Asked& asked = asked_.emplace_back();
    owners_.push_back({this, &asked});
    const std::uint64_t chosen = choices_.OneIn(3) ? choices_.Below(7) + 1 : 1 + choices_.Below(2);
    for (std::size_t i = 0; i < kLimits; ++i) {
      if ((chosen >> i & 1) == 0) continue;
      KeyUse& use = asked.uses.emplace_back();
      use.key = {.scope = "rule:limit", .tag = kNames[i]};
      use.limit = &limits_[i];
      use.cost = choices_.Between(1, 6);
      use.may_lease = true;
    }
    asked.call.uses = asked.uses;
    if (choices_.OneIn(3)) asked.call.timeout = Micros{choices_.Between(1, 5'000)};
    asked.call.context = &owners_.back();
    asked.call.on_done = [](StoreCall& /*call*/, void* context) {
      const Owner& owner = *static_cast<Owner*>(context);
      ++owner.asked->times_done;
      owner.nodes->Admit(*owner.asked);
    };
    asked.answered = AnyNode().Submit(asked.call);
    if (asked.at_once()) Admit(asked);
  }

  void Admit(const Asked& asked) {
    if (!asked.allowed()) return;
    for (const KeyUse& use : asked.uses) {
      const auto index = static_cast<std::size_t>(use.limit - limits_.data());
      const LimitNumbers& limit = use.limit->numbers();
      algo::State& judge = judges_[index];
      algo::Advance(limit, store_.now, judge);
      if (algo::Left(limit, store_.now, judge) < use.cost) over_ += use.cost;
      algo::Take(limit, judge, use.cost, 0);
      admitted_ += use.cost;
    }
  }

  struct Owner {
    RandomNodes* nodes;
    Asked* asked;
  };

  static constexpr std::array<std::string_view, kLimits> kNames{"bucket", "window", "counter"};
  algo::testing::RandomChoices choices_;
  std::vector<Limit> limits_{
      *Limit::TokenBucket({.capacity = 200, .refill = Rate::PerSecond(800)}),
      *Limit::FixedWindow({.limit = 300, .window = milliseconds(400)}),
      *Limit::SlidingWindowCounter({.limit = 300, .window = milliseconds(400)})};
  SteadyTime now_{std::chrono::hours(5)};
  LendingStore store_;
  std::vector<std::unique_ptr<denial::DenialTable>> denials_;
  std::vector<std::unique_ptr<LeaseTable>> tables_;
  std::vector<std::unique_ptr<denial::DenialStore>> remembering_;
  std::vector<std::unique_ptr<LeasedStore>> nodes_;
  std::vector<algo::State> judges_;
  std::vector<std::string> recalls_;
  std::deque<Asked> asked_;
  std::deque<Owner> owners_;
  std::int64_t over_ = 0;
  std::int64_t admitted_ = 0;
};

TEST(LeasedStores, TogetherNeverAdmitTooMuchAndAnswerEveryCallOnce) {
  for (const std::uint64_t seed : algo::testing::TestSeeds(60)) {
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
    RandomNodes nodes(seed);
    nodes.Run(4'000);
    nodes.ExpectEveryCallWasAnsweredOnce();
    EXPECT_EQ(nodes.over(), 0) << "of " << nodes.admitted();
    EXPECT_GT(nodes.admitted(), 0);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice::lease::testing
