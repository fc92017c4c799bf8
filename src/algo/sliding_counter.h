#pragma once

#include "algo/operations.h"

namespace sluice::algo::sliding_counter {

struct Operations : DefaultOperations {
  static ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state);
  static std::int64_t Left(const LimitNumbers& limit, WallTime now, const State& state);
  static Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                        std::int64_t cost);
  static WallTime FreshAt(const LimitNumbers& limit, const State& state);
  static void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot);
  static void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta);
  static WallTime AdjustableUntil(const LimitNumbers& limit, WallTime at);
  static ClockSeen Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now,
                           State& state);
};

}  // namespace sluice::algo::sliding_counter
