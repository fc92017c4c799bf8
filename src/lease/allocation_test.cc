// A program of its own: it counts what is allocated.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "denial/denial_store.h"
#include "lease/leased_store.h"
#include "lease/testing/lending_store.h"

namespace sluice::lease::testing {
namespace {

using store::Completion;
using store::KeyUse;
using store::StoreCall;

/// Answers after a while, and allocates nothing.
class LaterStore final : public store::Store {
 public:
  LaterStore() { lending.answers_at_once = true; }

  Completion Submit(StoreCall& call) override {
    call.pending = true;
    waiting_.at(count_++) = &call;
    return Completion::kLater;
  }
  void SubmitBatch(std::span<StoreCall* const> calls) override {
    for (StoreCall* call : calls) Submit(*call);
  }
  void AnswerAll() {
    while (count_ > 0) {
      StoreCall& call = *waiting_[--count_];
      lending.Submit(call);
      call.pending = false;
      call.on_done(call, call.context);
    }
  }

  LendingStore lending;

 private:
  std::array<StoreCall*, 4096> waiting_{};
  std::size_t count_ = 0;
};

constexpr std::size_t kKeys = 32;
constexpr std::size_t kCallsEach = 8;

class Node {
 public:
  Node() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      uses_[i].key = {.scope = "rule:limit", .tag = tags_[i % kKeys]};
      uses_[i].limit = i % 2 == 0 ? &scarce_ : &plenty_;
      uses_[i].may_lease = i % 4 != 0;
      calls_[i].uses = {&uses_[i], 1};
      if (i % 8 == 0) calls_[i].timeout = std::chrono::milliseconds(10);
      calls_[i].on_done = [](StoreCall& /*call*/, void* /*context*/) {};
    }
  }

  /// A call of every key comes, several times; then answers, and what is idle goes back.
  void Turn() {
    for (std::size_t i = 0; i < calls_.size(); ++i) leased_.Submit(calls_[i]);
    for (const StoreCall& call : calls_) denied_ += !call.pending && !call.allowed ? 1U : 0U;
    store_.AnswerAll();
    now_ += kTurn;
    store_.lending.now += kTurn;
    leased_.Sweep();
    remembering_.ExpireCalls();
    for (const std::string& tag : tags_) leased_.GiveBack({.scope = "rule:limit", .tag = tag});
    store_.AnswerAll();
  }

  [[nodiscard]] TableStats stats() const { return table_.StatsApprox(); }
  [[nodiscard]] std::uint64_t denied() const { return denied_; }
  [[nodiscard]] std::uint64_t remembered() const { return denials_.answers(); }

 private:
  static constexpr Micros kTurn = std::chrono::milliseconds(7);

  static std::array<std::string, kKeys> Tags() {
    std::array<std::string, kKeys> tags;
    for (std::size_t i = 0; i < kKeys; ++i) tags[i] = "key" + std::to_string(i);
    return tags;
  }

  const Limit scarce_ = *Limit::TokenBucket({.capacity = 500, .refill = Rate::PerSecond(500)});
  const Limit plenty_ = *Limit::TokenBucket({.capacity = 9'000, .refill = Rate::PerSecond(9'000)});
  const std::array<std::string, kKeys> tags_ = Tags();
  SteadyTime now_{std::chrono::hours(5)};
  LaterStore store_;
  denial::DenialTable denials_;
  LeaseTable table_{TableOptions{.max_keys = 1'000, .calls_before_lease = 0}, denials_};
  denial::DenialStore remembering_{store_,
                                   denials_,
                                   {.now = [this] { return now_; },
                                    .deadline = std::chrono::milliseconds(50),
                                    .wake = [](SteadyTime /*when*/) {}}};
  LeasedStore leased_{remembering_, table_, {.now = [this] { return now_; }, .recall = {}}};
  std::array<KeyUse, kKeys * kCallsEach> uses_{};
  std::array<StoreCall, kKeys * kCallsEach> calls_{};
  std::uint64_t denied_ = 0;
};

TEST(LeaseAllocations, NothingIsAllocatedForKeysThatAreKnown) {
  Node node;
  constexpr int kTurns = 300;
  for (int turn = 0; turn < kTurns; ++turn) node.Turn();
  const TableStats before = node.stats();
  const std::uint64_t denied = node.denied();
  const std::uint64_t remembered = node.remembered();
  const std::size_t allocations = Allocations();
  for (int turn = 0; turn < kTurns; ++turn) node.Turn();
  EXPECT_EQ(Allocations(), allocations);
  // All that is done in the steady state was done.
  EXPECT_GT(node.stats().hits, before.hits);
  EXPECT_GT(node.stats().fetches, before.fetches);
  EXPECT_GT(node.stats().returned + node.stats().recalled, before.returned + before.recalled);
  EXPECT_GT(node.denied(), denied);
  EXPECT_GT(node.remembered(), remembered);
}

}  // namespace
}  // namespace sluice::lease::testing
