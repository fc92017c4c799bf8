#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/lease.h"
#include "base/clock.h"
#include "base/wide_math.h"

namespace sluice::lease {

/// One lease held by a node. `tokens` may still be spent; `spent` and `returned` accumulate until a
/// request reports them.
struct HeldLease {
  algo::lease::Id id;
  algo::lease::Schedule schedule;
  std::int64_t granted = 0;  ///< Without returned tokens.
  std::int64_t tokens = 0;
  std::int64_t spent = 0;
  std::int64_t returned = 0;
  SteadyTime received{};
  SteadyTime deadline{};
  bool lapses = false;

  [[nodiscard]] bool empty() const { return tokens == 0 && spent == 0 && returned == 0; }

  /// Returns the number of tokens that may be spent at `now`; the rest is refill that has not
  /// arrived.
  [[nodiscard]] std::int64_t Spendable(SteadyTime now) const {
    if (now >= deadline) return 0;
    std::int64_t arrived = schedule.ready;
    if (schedule.num > 0) {
      // No overflow: a reservation is at most 2^53 per quarter of a second, and a lease lasts
      // seconds.
      const std::int64_t more = schedule.fraction + schedule.num * (now - received).count();
      if (more > 0) arrived += more / schedule.den;
    }
    return std::max(std::min(arrived, granted) - (granted - tokens), std::int64_t{0});
  }

  /// Returns when `amount` tokens (more than spendable, at most all) may be spent.
  [[nodiscard]] SteadyTime WhenSpendable(std::int64_t amount) const {
    const std::int64_t target = granted - tokens + amount - schedule.ready;
    const Wide missing = Wide{target} * schedule.den - schedule.fraction;
    const Wide wait = (missing + schedule.num - 1) / schedule.num;
    return received + Micros{static_cast<std::int64_t>(wait)};
  }

  void Spend(std::int64_t amount) {
    tokens -= amount;
    spent += amount;
  }

  /// Returns the tokens that would arrive last.
  void GiveBack(std::int64_t amount) {
    tokens -= amount;
    granted -= amount;
    returned += amount;
  }
};

}  // namespace sluice::lease
