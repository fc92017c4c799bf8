#include "algo/concurrency.h"

#include <algorithm>
#include <optional>

namespace sluice::algo::concurrency {
namespace {

// A slot that would outlive a new one by more than clocks differ was taken before the clock was
// set back (or the time to live was cut): it lives as long as a new one.
bool OutlivesNew(const LimitNumbers& limit, WallTime now, const std::vector<Slot>& slots) {
  return !slots.empty() && slots.back().expires - (now + limit.window) > kClockTolerance;
}

WallTime ExpiryOf(const LimitNumbers& limit, const State& state, const Slot& slot) {
  if (!OutlivesNew(limit, state.at, state.history->slots)) return slot.expires;
  return std::min(slot.expires, state.at + limit.window);
}

std::vector<Slot>::iterator Find(const State& state, std::uint64_t slot) {
  auto& slots = state.history->slots;
  return std::find_if(slots.begin() + state.previous, slots.end(),
                      [slot](const Slot& s) { return s.id == slot; });
}

void Insert(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot) {
  auto& slots = state.history->slots;
  const WallTime expires = state.at + limit.window;
  const auto place = std::upper_bound(slots.begin(), slots.end(), expires,
                                      [](WallTime t, const Slot& s) { return t < s.expires; });
  slots.insert(place, {slot, expires, cost});
  state.value += cost;
}

// The cost of the slot that was removed.
std::optional<std::int64_t> Remove(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  if (!Holds(state, slot)) return std::nullopt;
  concurrency::Commit(limit, state);
  const auto found = Find(state, slot);
  const std::int64_t cost = found->cost;
  state.history->slots.erase(found);
  state.value -= cost;
  return cost;
}

}  // namespace

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state) {
  state.at = now;
  if (state.history == nullptr) return ClockSeen::kForward;
  const auto& slots = state.history->slots;
  auto first = static_cast<std::size_t>(state.previous);
  while (first < slots.size() && slots[first].expires <= now) {
    state.value -= slots[first].cost;
    ++first;
  }
  state.previous = static_cast<std::int64_t>(first);
  return OutlivesNew(limit, now, slots) ? ClockSeen::kSetBack : ClockSeen::kForward;
}

std::int64_t Left(const LimitNumbers& limit, const State& state) { return limit.cap - state.value; }

Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, std::int64_t cost) {
  const auto& slots = state.history->slots;
  auto slot = static_cast<std::size_t>(state.previous);
  std::int64_t missing = cost - Left(limit, state) - slots[slot].cost;
  while (missing > 0) missing -= slots[++slot].cost;
  return WaitUntil(now, ExpiryOf(limit, state, slots[slot]));
}

WallTime FreshAt(const LimitNumbers& limit, const State& state) {
  if (state.value == 0) return WallTime{};
  return ExpiryOf(limit, state, state.history->slots.back());
}

void Commit(const LimitNumbers& limit, State& state) {
  auto& slots = state.history->slots;
  if (OutlivesNew(limit, state.at, slots)) {
    const WallTime latest = state.at + limit.window;
    for (auto slot = slots.rbegin(); slot != slots.rend() && slot->expires > latest; ++slot) {
      slot->expires = latest;
    }
  }
  slots.erase(slots.begin(), slots.begin() + state.previous);
  state.previous = 0;
}

void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot) {
  concurrency::Commit(limit, state);
  Insert(limit, state, std::min(cost, kMaxAmount - state.value), slot);
}

bool Holds(const State& state, std::uint64_t slot) {
  return state.history != nullptr && Find(state, slot) != state.history->slots.end();
}

bool Release(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  return Remove(limit, state, slot).has_value();
}

bool Renew(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  const auto cost = Remove(limit, state, slot);
  if (!cost) return false;
  Insert(limit, state, *cost, slot);
  return true;
}

}  // namespace sluice::algo::concurrency
