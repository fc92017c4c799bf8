#include "algo/testing/single_key.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "algo/algorithm_info.h"

namespace sluice::algo::testing {

SingleKey::SingleKey(const Limit& limit, WallTime now)
    : limit_(limit.numbers()), state_(Fresh(limit_, now)) {
  if (InfoOf(limit_.algorithm).keeps_history) state_.history = &history_;
}

SingleKey::SingleKey(const SingleKey& other)
    : limit_(other.limit_), history_(other.history_), state_(other.state_) {
  if (state_.history != nullptr) state_.history = &history_;
}

SingleKey& SingleKey::operator=(const SingleKey& other) {
  limit_ = other.limit_;
  history_ = other.history_;
  state_ = other.state_;
  if (state_.history != nullptr) state_.history = &history_;
  return *this;
}

State SingleKey::AdvancedTo(WallTime now) const {
  State state = state_;
  Advance(limit_, now, state);
  return state;
}

void SingleKey::TakeOrRenew(State& state, std::int64_t cost, std::uint64_t slot) {
  if (limit_.algorithm != Algorithm::kConcurrency || !RenewSlot(limit_, state, slot)) {
    Take(limit_, state, cost, slot);
  }
  state_ = state;
}

Verdict SingleKey::Check(WallTime now, std::int64_t cost, std::uint64_t slot) {
  State state = state_;
  const ClockSeen seen = Advance(limit_, now, state);
  Verdict verdict{.limit = limit_.cap};
  const bool held = limit_.algorithm == Algorithm::kConcurrency && HoldsSlot(state, slot);
  const std::int64_t left = algo::Left(limit_, now, state);
  if (cost == 0 || held || cost <= left) {
    if (cost > 0) {
      verdict.delay = DelayOf(limit_, state);
      TakeOrRenew(state, cost, slot);
    }
  } else if (cost > limit_.cap) {
    verdict.outcome = Outcome::kNeverFits;
    verdict.retry_after = kMaxWait;
  } else {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = WaitFor(limit_, now, state, cost);
  }
  verdict.remaining = std::max<std::int64_t>(0, algo::Left(limit_, now, state));
  verdict.reset_after = WaitUntil(now, FreshAt(limit_, state));
  if (seen == ClockSeen::kSetBack && verdict.outcome != Outcome::kAllowed) {
    Commit(limit_, state);
    state_ = state;
  }
  return verdict;
}

Verdict SingleKey::Peek(WallTime now, std::int64_t cost) const {
  return SingleKey(*this).Check(now, cost, ~std::uint64_t{0});
}

void SingleKey::Force(WallTime now, std::int64_t cost, std::uint64_t slot) {
  State state = AdvancedTo(now);
  TakeOrRenew(state, cost, slot);
}

void SingleKey::Adjust(WallTime now, WallTime taken_at, std::int64_t delta) {
  State state = AdvancedTo(now);
  algo::Adjust(limit_, state, taken_at, delta);
  state_ = state;
}

bool SingleKey::Release(WallTime now, std::uint64_t slot) {
  State state = AdvancedTo(now);
  const bool released = ReleaseSlot(limit_, state, slot);
  if (released) state_ = state;
  return released;
}

bool SingleKey::Renew(WallTime now, std::uint64_t slot) {
  State state = AdvancedTo(now);
  const bool renewed = RenewSlot(limit_, state, slot);
  if (renewed) state_ = state;
  return renewed;
}

void SingleKey::ChangeLimit(const Limit& to, WallTime now) {
  Convert(limit_, to.numbers(), now, state_);
  limit_ = to.numbers();
}

std::int64_t SingleKey::Left(WallTime now) const {
  return algo::Left(limit_, now, AdvancedTo(now));
}

bool SingleKey::Holds(WallTime now, std::uint64_t slot) const {
  return HoldsSlot(AdvancedTo(now), slot);
}

bool SameMemory(const SingleKey& a, const SingleKey& b) {
  const auto entries_of = [](const SingleKey& key) {
    std::vector<std::pair<EntryKey, std::int64_t>> entries;
    const auto add = [&](const auto& entry) { entries.emplace_back(entry.key(), entry.cost); };
    key.history().log.ForEach(add);
    key.history().slots.ForEach(add);
    return entries;
  };
  return a.state().at == b.state().at && a.state().value == b.state().value &&
         a.state().previous == b.state().previous && a.state().grant == b.state().grant &&
         entries_of(a) == entries_of(b);
}

}  // namespace sluice::algo::testing
