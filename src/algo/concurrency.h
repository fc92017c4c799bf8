#pragma once

#include "algo/state.h"

/// Slots in the order in which they expire. LimitNumbers::window is a slot's time to live.
namespace sluice::algo::concurrency {

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state);
std::int64_t Left(const LimitNumbers& limit, const State& state);
Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, std::int64_t cost);
WallTime FreshAt(const LimitNumbers& limit, const State& state);
void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot);
bool Holds(const State& state, std::uint64_t slot);
bool Release(const LimitNumbers& limit, State& state, std::uint64_t slot);
bool Renew(const LimitNumbers& limit, State& state, std::uint64_t slot);
void Commit(const LimitNumbers& limit, State& state);

}  // namespace sluice::algo::concurrency
