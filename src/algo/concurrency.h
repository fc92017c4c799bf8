#pragma once

#include "algo/operations.h"

/// Slots sorted by expiry, with an index by id. LimitNumbers::window is a slot's time to live. All
/// functions take O(log n), except for the first one after the clock was set back.
namespace sluice::algo::concurrency {

struct Operations : DefaultOperations {
  static ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state);
  static std::int64_t Left(const LimitNumbers& limit, WallTime now, const State& state);
  static Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                        std::int64_t cost);
  static WallTime FreshAt(const LimitNumbers& limit, const State& state);
  static void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot);
  static void Commit(const LimitNumbers& limit, State& state);
  static bool Holds(const State& state, std::uint64_t slot);
  static bool Release(const LimitNumbers& limit, State& state, std::uint64_t slot);
  static bool Renew(const LimitNumbers& limit, State& state, std::uint64_t slot);
};

}  // namespace sluice::algo::concurrency
