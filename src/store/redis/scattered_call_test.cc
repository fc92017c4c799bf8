#include "store/redis/scattered_call.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/redis/message.h"
#include "store/testing/model_store.h"

namespace sluice::store::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kNow{Micros{1'700'000'000'000'000}};

/// A cluster in which each slot answers when the test says so.
class StepwiseCluster final : public PartRunner {
 public:
  void RunPart(StoreCall& part, std::uint16_t slot, SteadyTime /*deadline*/) override {
    waiting_.emplace_back(&part, slot);
  }

  void GiveBack(const KeyUse& taken, std::uint16_t slot, WallTime now) override {
    given_back.push_back(slot);
    KeyUse use = taken;
    const bool is_slot = use.limit->algorithm() == Algorithm::kConcurrency;
    use.cost = 0;
    use.slot = taken.receipt.slot;
    StoreCall call{.operation = is_slot ? Operation::kRelease : Operation::kAdjust,
                   .uses = {&use, 1},
                   .now = now};
    model.Submit(call);
  }

  /// Answers what waits, and returns in which slots that was.
  std::vector<std::uint16_t> Step() {
    std::vector<std::uint16_t> slots;
    for (const auto& [part, slot] : std::exchange(waiting_, {})) {
      slots.push_back(slot);
      if (failing == slot) {
        part->ok = false;
        part->error = failure;
      } else {
        const Operation operation = part->operation;
        if (operation == kPeekBeforeTake) part->operation = Operation::kPeek;
        model.Submit(*part);
        part->operation = operation;
      }
      part->on_done(*part, part->context);
    }
    return slots;
  }

  ModelStore model;
  std::vector<std::uint16_t> given_back;
  std::optional<std::uint16_t> failing;
  ErrorCode failure = ErrorCode::kStoreTimeout;

 private:
  std::vector<std::pair<StoreCall*, std::uint16_t>> waiting_;
};

class ScatteredCallTest : public ::testing::Test {
 protected:
  /// A use of cost 1 in a slot of its own.
  KeyUse& Add(const std::string& tag, std::uint16_t slot, const Limit& limit) {
    KeyUse& use = uses_.emplace_back();
    use.key = {.scope = "rule:limit", .tag = tags_.emplace_back(tag), .rest = {}};
    use.limit = &limit;
    locations_.push_back({.slot = slot});
    return use;
  }

  void Start(Operation operation = Operation::kCheck) {
    call_ = {.operation = operation, .uses = uses_, .now = kNow};
    call_.pending = true;
    call_.context = this;
    call_.on_done = [](StoreCall&, void* test) {
      ++static_cast<ScatteredCallTest*>(test)->answers_;
    };
    ScatteredCall::Run(cluster_, call_, locations_, SteadyTime::max());
  }

  void Finish() {
    while (!cluster_.Step().empty()) {
    }
    ASSERT_EQ(answers_, 1);
    EXPECT_FALSE(call_.pending);
  }

  /// Somebody else takes one.
  void TakeOne(const std::string& tag, const Limit& limit) {
    KeyUse use;
    use.key = {.scope = "rule:limit", .tag = tag, .rest = {}};
    use.limit = &limit;
    StoreCall call{.uses = {&use, 1}, .now = kNow};
    cluster_.model.Submit(call);
    ASSERT_TRUE(call.allowed);
  }

  std::int64_t LeftOf(const std::string& tag, const Limit& limit) {
    KeyUse use;
    use.key = {.scope = "rule:limit", .tag = tag, .rest = {}};
    use.limit = &limit;
    use.cost = 0;
    StoreCall call{.operation = Operation::kPeek, .uses = {&use, 1}, .now = kNow};
    cluster_.model.Submit(call);
    return use.verdict.remaining;
  }

  StepwiseCluster cluster_;
  const Limit one_ = *Limit::TokenBucket({.capacity = 1, .refill = Rate::PerDay(1)});
  const Limit five_ = *Limit::TokenBucket({.capacity = 5, .refill = Rate::PerDay(1)});
  const Limit slots_ = *Limit::Concurrency({.limit = 2, .time_to_live = std::chrono::hours(1)});
  std::deque<std::string> tags_;
  std::vector<KeyUse> uses_;
  std::vector<KeyLocation> locations_;
  StoreCall call_;
  int answers_ = 0;
};

TEST_F(ScatteredCallTest, PeeksEverywhereThenConsumesInSlotOrder) {
  Add("c", 30, five_);
  Add("a", 10, five_);
  Add("b", 20, five_);
  Start();
  EXPECT_THAT(cluster_.Step(), ElementsAre(10, 20, 30));
  EXPECT_THAT(cluster_.Step(), ElementsAre(10));
  EXPECT_THAT(cluster_.Step(), ElementsAre(20));
  EXPECT_THAT(cluster_.Step(), ElementsAre(30));
  EXPECT_EQ(answers_, 1);
  EXPECT_TRUE(call_.ok && call_.allowed);
  for (const KeyUse& use : uses_) {
    EXPECT_EQ(use.verdict.remaining, 4);
    EXPECT_EQ(use.receipt.amount, 1);
  }
}

TEST_F(ScatteredCallTest, LimitsThatCannotDenyAreConsumedLast) {
  Add("a", 10, five_).mode = Mode::kForce;
  Add("b", 20, five_);
  Start();
  cluster_.Step();
  EXPECT_THAT(cluster_.Step(), ElementsAre(20));
  EXPECT_THAT(cluster_.Step(), ElementsAre(10));
}

TEST_F(ScatteredCallTest, ADenialConsumesNothing) {
  Add("a", 10, five_);
  Add("b", 20, one_);
  TakeOne("b", one_);
  Start();
  Finish();
  EXPECT_TRUE(call_.ok);
  EXPECT_FALSE(call_.allowed);
  EXPECT_EQ(uses_[1].verdict.outcome, Outcome::kDenied);
  EXPECT_EQ(uses_[0].receipt, Receipt{});
  EXPECT_EQ(LeftOf("a", five_), 5);
  EXPECT_THAT(cluster_.given_back, IsEmpty());
}

TEST_F(ScatteredCallTest, ConsumedUnitsAreRefundedIfAnotherCallInterferes) {
  Add("a", 10, five_);
  Add("s", 15, slots_);
  Add("b", 20, one_);
  Start();
  cluster_.Step();
  TakeOne("b", one_);
  Finish();
  EXPECT_TRUE(call_.ok);
  EXPECT_FALSE(call_.allowed);
  EXPECT_EQ(uses_[2].verdict.outcome, Outcome::kDenied);
  EXPECT_THAT(cluster_.given_back, ElementsAre(10, 15));
  EXPECT_EQ(uses_[0].receipt, Receipt{});
  EXPECT_EQ(uses_[0].verdict.remaining, 5);
  EXPECT_EQ(LeftOf("a", five_), 5);
  EXPECT_EQ(LeftOf("s", slots_), 2);
}

TEST_F(ScatteredCallTest, ASlotThatWasHeldBeforeIsNotReleased) {
  KeyUse held;
  held.key = {.scope = "rule:limit", .tag = "s", .rest = {}};
  held.limit = &slots_;
  held.slot = 7;
  StoreCall take{.uses = {&held, 1}, .now = kNow};
  cluster_.model.Submit(take);
  Add("s", 10, slots_).slot = 7;
  Add("b", 20, one_);
  Start();
  cluster_.Step();
  TakeOne("b", one_);
  Finish();
  EXPECT_THAT(cluster_.given_back, IsEmpty());
  EXPECT_EQ(LeftOf("s", slots_), 1);
}

TEST_F(ScatteredCallTest, LimitsThatCountDeniedCallsKeepTheirShare) {
  Add("a", 10, five_).count_denied = true;
  Add("b", 20, one_);
  Add("c", 30, five_).count_denied = true;
  Start();
  cluster_.Step();
  TakeOne("b", one_);
  Finish();
  EXPECT_FALSE(call_.allowed);
  EXPECT_THAT(cluster_.given_back, IsEmpty());
  EXPECT_EQ(LeftOf("a", five_), 4);
  EXPECT_EQ(LeftOf("c", five_), 4);
  EXPECT_EQ(uses_[0].receipt.amount, 1);
  EXPECT_EQ(uses_[2].receipt.amount, 1);
  EXPECT_EQ(uses_[2].verdict.outcome, Outcome::kAllowed);
}

TEST_F(ScatteredCallTest, IfALaterLocationFailsTheOthersAreRefundedAndTheCallTimesOut) {
  Add("a", 10, five_).count_denied = true;
  Add("b", 20, five_);
  Start();
  cluster_.Step();
  cluster_.failing = 20;
  cluster_.failure = ErrorCode::kStoreUnavailable;
  Finish();
  EXPECT_FALSE(call_.ok);
  EXPECT_EQ(call_.error, ErrorCode::kStoreTimeout);
  EXPECT_EQ(LeftOf("a", five_), 5);
}

TEST_F(ScatteredCallTest, IfTheFirstLocationFailsNothingIsConsumed) {
  Add("a", 10, five_);
  Add("b", 20, five_);
  Start();
  cluster_.Step();
  cluster_.failing = 10;
  cluster_.failure = ErrorCode::kStoreUnavailable;
  Finish();
  EXPECT_EQ(call_.error, ErrorCode::kStoreUnavailable);
  EXPECT_EQ(LeftOf("b", five_), 5);
}

TEST_F(ScatteredCallTest, OtherOperationsRunInAllLocationsConcurrently) {
  Add("a", 10, five_);
  Add("b", 20, five_);
  TakeOne("a", five_);
  TakeOne("b", five_);
  Start(Operation::kReset);
  EXPECT_THAT(cluster_.Step(), ElementsAre(10, 20));
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(call_.affected, 2U);
}

TEST_F(ScatteredCallTest, AnOperationThatFailsInSomeLocationsTimesOut) {
  Add("a", 10, five_);
  Add("b", 20, five_);
  cluster_.failing = 20;
  cluster_.failure = ErrorCode::kStoreUnavailable;
  Start(Operation::kGrant);
  Finish();
  EXPECT_EQ(call_.error, ErrorCode::kStoreTimeout);
}

TEST_F(ScatteredCallTest, ASettlementThatFailedInOneLocationIsCompletedByARetry) {
  std::vector<Settlement> settlements(
      2, Settlement{.receipt = 7, .expires = kNow + std::chrono::hours(1)});
  for (int i = 0; i < 3; ++i) {
    TakeOne("a", five_);
    TakeOne("b", five_);
  }
  Add("a", 10, five_);
  Add("b", 20, five_);
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    uses_[i].receipt = {.amount = 1};
    uses_[i].cost = 0;
    uses_[i].settlement = &settlements[i];
  }
  cluster_.failing = 20;
  Start(Operation::kAdjust);
  Finish();
  EXPECT_EQ(call_.error, ErrorCode::kStoreTimeout);
  EXPECT_EQ(LeftOf("a", five_), 3);
  EXPECT_EQ(LeftOf("b", five_), 2);
  cluster_.failing.reset();
  for (int i = 0; i < 20; ++i) {
    answers_ = 0;
    Start(Operation::kAdjust);
    Finish();
    EXPECT_TRUE(call_.ok);
    EXPECT_TRUE(settlements[0].repeated);
    EXPECT_EQ(settlements[1].repeated, i > 0);
    EXPECT_EQ(LeftOf("a", five_), 3);
    EXPECT_EQ(LeftOf("b", five_), 3);
  }
}

TEST_F(ScatteredCallTest, AFailedPeekFailsTheCall) {
  Add("a", 10, five_);
  Add("b", 20, five_);
  cluster_.failing = 20;
  cluster_.failure = ErrorCode::kForeignValue;
  Start(Operation::kPeek);
  Finish();
  EXPECT_EQ(call_.error, ErrorCode::kForeignValue);
}

}  // namespace
}  // namespace sluice::store::testing
