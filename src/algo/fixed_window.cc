#include "algo/fixed_window.h"

#include <algorithm>

#include "algo/calendar.h"

namespace sluice::algo::fixed_window {
namespace {

WallTime StartOf(const LimitNumbers& limit, WallTime t) {
  switch (limit.anchor) {
    case Anchor::kEpoch:
      return t - t.time_since_epoch() % limit.window;
    case Anchor::kFirstHit:
      return t;
    default:
      return CalendarStart(limit.anchor, t);
  }
}

// Of the window that begins at `start`.
WallTime EndOf(const LimitNumbers& limit, WallTime start) {
  const bool calendar = limit.anchor != Anchor::kEpoch && limit.anchor != Anchor::kFirstHit;
  return calendar ? CalendarEnd(limit.anchor, start) : start + limit.window;
}

}  // namespace

Micros Operations::RefillTime(const LimitNumbers& limit) {
  constexpr Micros kDay = std::chrono::hours(24);
  switch (limit.anchor) {
    case Anchor::kEpoch:
    case Anchor::kFirstHit:
      return limit.window;
    case Anchor::kDay:
      return kDay;
    case Anchor::kWeek:
      return 7 * kDay;
    case Anchor::kMonth:
      return 31 * kDay;
    case Anchor::kYear:
      return 366 * kDay;
  }
  __builtin_unreachable();
}

ClockSeen Operations::Advance(const LimitNumbers& limit, WallTime now, State& state) {
  if (state.value == 0 || now >= EndOf(limit, state.at)) {
    state.value = 0;
    state.at = StartOf(limit, now);
    return ClockSeen::kForward;
  }
  if (state.at - now <= kClockTolerance) return ClockSeen::kForward;
  state.at = StartOf(limit, now);
  return ClockSeen::kSetBack;
}

std::int64_t Operations::Left(const LimitNumbers& limit, WallTime /*now*/, const State& state) {
  return limit.cap - state.value;
}

Micros Operations::WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                           std::int64_t /*cost*/) {
  return WaitUntil(now, EndOf(limit, state.at));
}

WallTime Operations::FreshAt(const LimitNumbers& limit, const State& state) {
  return state.value == 0 ? WallTime{} : EndOf(limit, state.at);
}

void Operations::Take(const LimitNumbers& /*limit*/, State& state, std::int64_t cost,
                      std::uint64_t /*slot*/) {
  state.value = cost < kMaxAmount - state.value ? state.value + cost : kMaxAmount;
}

void Operations::Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta) {
  // Units of a grant did not start a window; a charge on top of them does.
  const bool begins = limit.anchor == Anchor::kFirstHit && state.value == 0 && delta > 0 &&
                      at <= state.at && state.at < at + limit.window;
  if (begins) state.at = at;
  // Receipts of earlier windows are older: this one is from before the clock was set back, or the
  // caller has none.
  const bool is_later = limit.anchor == Anchor::kFirstHit && delta < 0 && at > state.at;
  if (at != state.at && !is_later) return;
  if (delta >= 0) return Take(limit, state, delta, 0);
  state.value = std::max(state.value + delta, std::int64_t{0});
}

WallTime Operations::AdjustableUntil(const LimitNumbers& limit, WallTime at) {
  return EndOf(limit, at);
}

ClockSeen Operations::Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now,
                              State& state) {
  if (now >= EndOf(from, state.at)) {
    state.value = 0;
    return ClockSeen::kForward;
  }
  const WallTime seen = std::max(now, state.at);
  const bool goes_on = to.anchor == Anchor::kFirstHit && seen < EndOf(to, state.at);
  if (!goes_on) state.at = StartOf(to, seen);
  return ClockSeen::kForward;
}

}  // namespace sluice::algo::fixed_window
