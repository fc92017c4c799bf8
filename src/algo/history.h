#pragma once

#include <cstddef>

#include <sluice/limit.h>

#include "algo/state.h"

/// The memory of histories: what they occupy, and how they grow and shrink.
namespace sluice::algo {

/// malloc's own share of a block, about.
inline constexpr std::size_t kBlockOverhead = 16;

/// Returns the approximate heap memory of a history.
std::size_t BytesOf(const History& history);

/// How many bytes a history must grow by before `more` entries can be added to it; 0 if they fit,
/// or if the algorithm keeps no history. Takes a state that was advanced.
std::size_t BytesToGrow(const LimitNumbers& limit, const State& state, std::size_t more);

/// Grows by as much.
void Grow(const LimitNumbers& limit, State& state, std::size_t more);

/// Drops the entries that are over at `now`, and their memory, if most of a large history is over.
/// Decisions from `now` on are the same as without. Takes a state that was not advanced. Returns
/// whether it dropped any. Commits.
bool Shrink(const LimitNumbers& limit, WallTime now, State& state);

}  // namespace sluice::algo
