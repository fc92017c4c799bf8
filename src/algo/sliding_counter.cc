#include "algo/sliding_counter.h"

#include <algorithm>

#include "base/wide_math.h"

namespace sluice::algo::sliding_counter {
namespace {

WallTime StartOf(const LimitNumbers& limit, WallTime t) {
  return t - t.time_since_epoch() % limit.window;
}

// Returns the weight of the previous window: ⌊previous · (1 − elapsed/window)⌋.
std::int64_t Carried(const LimitNumbers& limit, WallTime now, const State& state) {
  const Micros elapsed = std::max(now - state.at, Micros{0});
  return MulDivFloor(state.previous, (limit.window - elapsed).count(), limit.window.count());
}

// Returns the first offset e into a window at which `previous` weighs at most `room`:
// previous·(window − e) < (room + 1)·window, solved for e.
Micros DecayTime(const LimitNumbers& limit, std::int64_t previous, std::int64_t room) {
  if (previous <= room) return Micros{0};
  return limit.window - Micros{MulDivCeil(room + 1, limit.window.count(), previous) - 1};
}

ClockSeen Roll(const LimitNumbers& limit, WallTime now, State& state) {
  const WallTime start = StartOf(limit, now);
  if (start < state.at && (state.value != 0 || state.previous != 0)) {
    if (state.at - now <= kClockTolerance) return ClockSeen::kForward;
    state.at = start;
    return ClockSeen::kSetBack;
  }
  if (start > state.at) {
    state.previous = start - state.at == limit.window ? state.value : 0;
    state.value = 0;
  }
  state.at = start;
  return ClockSeen::kForward;
}

std::int64_t Plus(std::int64_t used, std::int64_t delta) {
  if (delta > kMaxAmount - used) return kMaxAmount;
  return std::max(used + delta, std::int64_t{0});
}

}  // namespace

ClockSeen Operations::Advance(const LimitNumbers& limit, WallTime now, State& state) {
  const ClockSeen clock = Roll(limit, now, state);
  // A weight of zero stays zero: the key is fresh from now on, and must treat a later settlement
  // like a key that was dropped.
  const Micros left = limit.window - std::max(now - state.at, Micros{0});
  if (Wide{state.previous} * left.count() < limit.window.count()) state.previous = 0;
  return clock;
}

std::int64_t Operations::Left(const LimitNumbers& limit, WallTime now, const State& state) {
  return limit.cap - Carried(limit, now, state) - state.value;
}

Micros Operations::WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                           std::int64_t cost) {
  const std::int64_t room = limit.cap - state.value - cost;
  if (room >= 0) return WaitUntil(now, state.at + DecayTime(limit, state.previous, room));
  // This window alone is too full: as the next one's `previous` it must decay far enough.
  return WaitUntil(now, state.at + limit.window + DecayTime(limit, state.value, limit.cap - cost));
}

WallTime Operations::FreshAt(const LimitNumbers& limit, const State& state) {
  if (state.value > 0) return state.at + limit.window + DecayTime(limit, state.value, 0);
  if (state.previous == 0) return WallTime{};
  return state.at + DecayTime(limit, state.previous, 0);
}

void Operations::Take(const LimitNumbers& /*limit*/, State& state, std::int64_t cost,
                      std::uint64_t /*slot*/) {
  state.value = Plus(state.value, cost);
}

void Operations::Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta) {
  if (at == state.at) {
    state.value = Plus(state.value, delta);
  } else if (at == state.at - limit.window) {
    state.previous = Plus(state.previous, delta);
  }
}

WallTime Operations::AdjustableUntil(const LimitNumbers& limit, WallTime at) {
  return at + 2 * limit.window;
}

ClockSeen Operations::Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now,
                              State& state) {
  if (from.window == to.window) return ClockSeen::kForward;
  const ClockSeen clock = Advance(from, now, state);
  state.value = Plus(state.value, Carried(from, now, state));
  state.previous = 0;
  state.at = StartOf(to, std::max(now, state.at));
  return clock;
}

}  // namespace sluice::algo::sliding_counter
