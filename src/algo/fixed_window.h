#pragma once

#include "algo/state.h"

namespace sluice::algo::fixed_window {

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state);
std::int64_t Left(const LimitNumbers& limit, const State& state);
Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state);
WallTime FreshAt(const LimitNumbers& limit, const State& state);
void Take(State& state, std::int64_t cost);
void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta);
void Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now, State& state);

}  // namespace sluice::algo::fixed_window
