#pragma once

#include <cstddef>
#include <cstdint>

#include <sluice/limit.h>

#include "algo/state.h"

/// Memory of histories: size, growth, shrinking.
namespace sluice::algo {

/// Expired entries are erased this many at a time: no call has to erase thousands.
inline constexpr std::size_t kErasedAtOnce = 64;

/// Returns microseconds since the epoch, the unit of State::previous.
[[nodiscard]] constexpr std::int64_t MicrosOf(WallTime time) {
  return time.time_since_epoch().count();
}

/// Returns the approximate heap memory of a history.
std::size_t BytesOf(const History& history);

/// Returns by how many bytes a history must grow before `more` entries can be added; 0 if they fit,
/// or if the algorithm keeps no history. Precondition: the state is advanced.
std::size_t BytesToGrow(const LimitNumbers& limit, const State& state, std::size_t more);

/// Grows a history accordingly.
void Grow(const LimitNumbers& limit, State& state, std::size_t more);

/// Drops expired entries and their memory if most of a large history has expired at `now`. Returns
/// whether it did. Does not change decisions from `now` on. Precondition: the state is not
/// advanced. Commits.
bool Shrink(const LimitNumbers& limit, WallTime now, State& state);

}  // namespace sluice::algo
