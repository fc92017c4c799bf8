#pragma once

#include "algo/state.h"

namespace sluice::algo {

/// The interface of an algorithm for state.cc: a struct `Operations` of static functions that
/// derives from this one, adds Advance, Left, WaitFor, FreshAt and Take, and overrides defaults.
/// state.h documents each of them.
struct DefaultOperations {
  static State Fresh(const LimitNumbers& /*limit*/, WallTime now) { return {.at = now}; }
  static Micros RefillTime(const LimitNumbers& limit) { return limit.window; }
  static Micros DelayOf(const LimitNumbers& /*limit*/, const State& /*state*/) { return Micros{0}; }
  static void Adjust(const LimitNumbers& /*limit*/, State& /*state*/, WallTime /*at*/,
                     std::int64_t /*delta*/) {}
  static WallTime AdjustableUntil(const LimitNumbers& /*limit*/, WallTime /*at*/) { return kNever; }
  static void Commit(const LimitNumbers& /*limit*/, State& /*state*/) {}
  static ClockSeen Convert(const LimitNumbers& /*from*/, const LimitNumbers& /*to*/,
                           WallTime /*now*/, State& /*state*/) {
    return ClockSeen::kForward;
  }
};

}  // namespace sluice::algo
