#pragma once

#include "algo/state.h"

/// Remembers every call of the last window. Nothing is moved in memory for a call that is denied
/// or only looks; entries that are over are dropped when something is taken, half of them at a
/// time.
namespace sluice::algo::sliding_log {

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state);
std::int64_t Left(const LimitNumbers& limit, const State& state);
Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, std::int64_t cost);
WallTime FreshAt(const LimitNumbers& limit, const State& state);
void Take(const LimitNumbers& limit, State& state, std::int64_t cost);
void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta);
void Commit(State& state);

}  // namespace sluice::algo::sliding_log
