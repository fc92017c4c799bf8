#include "algo/concurrency.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "algo/history.h"

namespace sluice::algo::concurrency {
namespace {

// A slot that outlives a new one by more than the clock tolerance was acquired before the clock was
// set back (or the time to live was reduced): it expires with a new one.
bool OutlivesNew(const LimitNumbers& limit, WallTime now, const SummedTree<Slot>& slots) {
  return !slots.empty() && slots.back().expires - (now + limit.window) > kClockTolerance;
}

WallTime ExpiryOf(const LimitNumbers& limit, const State& state, const Slot& slot) {
  if (!OutlivesNew(limit, state.at, state.history->slots)) return slot.expires;
  return std::min(slot.expires, state.at + limit.window);
}

void Add(History& history, const Slot& slot) {
  history.slots.Insert(slot);
  history.expiries.Insert({slot.id, slot.expires});
}

void Erase(History& history, const Slot& slot) {
  history.expiries.Erase({.id = slot.id});
  history.slots.Erase(slot.key());
}

// Null if it is not there; it may be over.
const Slot* Find(const History& history, std::uint64_t slot) {
  const SlotExpiry* const found = history.expiries.Find({.id = slot});
  return found == nullptr ? nullptr : history.slots.Find({MicrosOf(found->expires), slot});
}

const Slot* FindHeld(const State& state, std::uint64_t slot) {
  if (state.history == nullptr) return nullptr;
  const Slot* const found = Find(*state.history, slot);
  return found != nullptr && MicrosOf(found->expires) >= state.previous ? found : nullptr;
}

void EraseOver(State& state, std::size_t most) {
  History& history = *state.history;
  for (; most > 0 && !history.slots.empty(); --most) {
    const Slot* const first = history.slots.FirstFrom({});
    if (MicrosOf(first->expires) >= state.previous) break;
    Erase(history, Slot(*first));
  }
  if (history.slots.empty() || MicrosOf(history.slots.FirstFrom({})->expires) >= state.previous) {
    state.previous = 0;
  }
}

void Insert(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot) {
  const Slot added{slot, state.at + limit.window, cost};
  // Expired entries must come before live ones, also when the clock was set back.
  if (MicrosOf(added.expires) < state.previous) {
    EraseOver(state, state.history->slots.size());
    state.previous = 0;
  }
  // An expired slot that was not erased yet.
  if (const Slot* const over = Find(*state.history, slot)) Erase(*state.history, Slot(*over));
  Add(*state.history, added);
  state.value += cost;
}

// The cost of the slot that was removed.
std::optional<std::int64_t> Remove(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  if (FindHeld(state, slot) == nullptr) return std::nullopt;
  Operations::Commit(limit, state);
  const Slot found = *FindHeld(state, slot);
  Erase(*state.history, found);
  state.value -= found.cost;
  return found.cost;
}

}  // namespace

ClockSeen Operations::Advance(const LimitNumbers& limit, WallTime now, State& state) {
  state.at = now;
  if (state.history == nullptr) return ClockSeen::kForward;
  const auto& slots = state.history->slots;
  if (!slots.empty()) state.previous = std::max(state.previous, MicrosOf(now) + 1);
  state.value = slots.total() - slots.Before(state.previous).cost;
  const bool any_live = !slots.empty() && MicrosOf(slots.back().expires) >= state.previous;
  return any_live && OutlivesNew(limit, now, slots) ? ClockSeen::kSetBack : ClockSeen::kForward;
}

std::int64_t Operations::Left(const LimitNumbers& limit, WallTime /*now*/, const State& state) {
  return limit.cap - state.value;
}

Micros Operations::WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                           std::int64_t cost) {
  const auto& slots = state.history->slots;
  const std::int64_t over = slots.Before(state.previous).cost;
  const Slot* const slot = slots.WhereCostReaches(over + cost - Left(limit, now, state));
  return WaitUntil(now, ExpiryOf(limit, state, *slot));
}

WallTime Operations::FreshAt(const LimitNumbers& limit, const State& state) {
  if (state.value == 0) return WallTime{};
  return ExpiryOf(limit, state, state.history->slots.back());
}

void Operations::Commit(const LimitNumbers& limit, State& state) {
  History& history = *state.history;
  if (OutlivesNew(limit, state.at, history.slots)) {
    const WallTime latest = state.at + limit.window;
    EraseOver(state, history.slots.size());
    History cut;
    history.slots.ForEach(
        [&](const Slot& slot) { Add(cut, {slot.id, std::min(slot.expires, latest), slot.cost}); });
    history.slots = std::move(cut.slots);
    history.expiries = std::move(cut.expiries);
  }
  EraseOver(state, kErasedAtOnce);
}

void Operations::Take(const LimitNumbers& limit, State& state, std::int64_t cost,
                      std::uint64_t slot) {
  Commit(limit, state);
  Insert(limit, state, std::min(cost, kMaxAmount - state.value), slot);
}

bool Operations::Holds(const State& state, std::uint64_t slot) {
  return FindHeld(state, slot) != nullptr;
}

bool Operations::Release(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  return Remove(limit, state, slot).has_value();
}

bool Operations::Renew(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  const auto cost = Remove(limit, state, slot);
  if (!cost) return false;
  Insert(limit, state, *cost, slot);
  return true;
}

}  // namespace sluice::algo::concurrency
