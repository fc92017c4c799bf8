#pragma once

#include "algo/operations.h"

/// Remembers every call of the last window. Denied calls and dry runs don't modify the history;
/// expired entries are dropped when a call consumes, 64 at a time. All functions take O(log n).
namespace sluice::algo::sliding_log {

struct Operations : DefaultOperations {
  static ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state);
  static std::int64_t Left(const LimitNumbers& limit, WallTime now, const State& state);
  static Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                        std::int64_t cost);
  static WallTime FreshAt(const LimitNumbers& limit, const State& state);
  static void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot);
  static void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta);
  static WallTime AdjustableUntil(const LimitNumbers& limit, WallTime at);
  static void Commit(const LimitNumbers& limit, State& state);
};

}  // namespace sluice::algo::sliding_log
