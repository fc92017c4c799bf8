#pragma once

#include <algorithm>
#include <cstdint>

#include <sluice/decision.h>

#include "algo/operations.h"
#include "base/wide_math.h"

/// Token and leaky bucket. The state of both is the remaining amount (leaky bucket: free space in
/// the queue), in 1/rate_den tokens, so that refilling is exact and needs no division. cap ×
/// rate_den is at most 2^53.
namespace sluice::algo::bucket {

constexpr std::int64_t Full(const LimitNumbers& limit) { return limit.cap * limit.rate_den; }

/// Maximum debt; more is forgiven.
inline constexpr std::int64_t kLowest = -kMaxAmount;

inline State Fresh(const LimitNumbers& limit, WallTime now) {
  return {.at = now, .value = Full(limit)};
}

/// Returns the number of refills between the epoch and `t`.
inline std::int64_t Steps(const LimitNumbers& limit, WallTime t) {
  const std::int64_t micros = t.time_since_epoch().count();
  return limit.interval == Micros{1} ? micros : micros / limit.interval.count();
}

inline ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state) {
  if (now < state.at) {
    // A full bucket is fresh, so its time does not matter.
    const bool full = state.value == Full(limit);
    if (!full && state.at - now <= kClockTolerance) return ClockSeen::kForward;
    state.at = now;
    return full ? ClockSeen::kForward : ClockSeen::kSetBack;
  }
  const std::int64_t missing = Full(limit) - state.value;
  const Wide arrived = Wide{Steps(limit, now) - Steps(limit, state.at)} * limit.rate_num;
  state.value += arrived < missing ? static_cast<std::int64_t>(arrived) : missing;
  state.at = now;
  return ClockSeen::kForward;
}

inline std::int64_t Left(const LimitNumbers& limit, const State& state) {
  if (state.value >= 0) return state.value / limit.rate_den;
  return -CeilDiv(-state.value, limit.rate_den);
}

/// Returns when `amount` more units have arrived.
inline WallTime ArrivalOf(const LimitNumbers& limit, const State& state, std::int64_t amount) {
  if (amount <= 0) return state.at;
  const std::int64_t steps = CeilDiv(amount, limit.rate_num);
  const Wide moment = limit.interval == Micros{1}
                          ? Wide{state.at.time_since_epoch().count()} + steps
                          : (Wide{Steps(limit, state.at)} + steps) * limit.interval.count();
  const Wide never = kNever.time_since_epoch().count();
  return WallTime{Micros{static_cast<std::int64_t>(std::min(moment, never))}};
}

inline Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                      std::int64_t cost) {
  return WaitUntil(now, ArrivalOf(limit, state, cost * limit.rate_den - state.value));
}

inline WallTime FreshAt(const LimitNumbers& limit, const State& state) {
  if (state.value == Full(limit)) return WallTime{};
  return ArrivalOf(limit, state, Full(limit) - state.value);
}

inline void Take(const LimitNumbers& limit, State& state, std::int64_t cost) {
  const std::int64_t most = (state.value - kLowest) / limit.rate_den;
  state.value = cost <= most ? state.value - cost * limit.rate_den : kLowest;
}

/// Returns the verdict of a check that was decided, given the state after it. The cost is between 1
/// and the cap.
inline Verdict VerdictOf(const LimitNumbers& limit, WallTime now, const State& state,
                         std::int64_t cost, bool allowed) {
  Verdict verdict{.limit = limit.cap,
                  .remaining = std::max(bucket::Left(limit, state), std::int64_t{0})};
  if (!allowed) {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = bucket::WaitFor(limit, now, state, cost);
  }
  verdict.reset_after = WaitUntil(now, bucket::FreshAt(limit, state));
  return verdict;
}

struct Operations : DefaultOperations {
  static State Fresh(const LimitNumbers& limit, WallTime now) { return bucket::Fresh(limit, now); }
  static ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state) {
    return bucket::Advance(limit, now, state);
  }
  static std::int64_t Left(const LimitNumbers& limit, WallTime /*now*/, const State& state) {
    return bucket::Left(limit, state);
  }
  static Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                        std::int64_t cost) {
    return bucket::WaitFor(limit, now, state, cost);
  }
  static WallTime FreshAt(const LimitNumbers& limit, const State& state) {
    return bucket::FreshAt(limit, state);
  }
  static Micros RefillTime(const LimitNumbers& limit);
  static Micros DelayOf(const LimitNumbers& limit, const State& state) {
    if (limit.algorithm != Algorithm::kLeakyBucket) return Micros{0};
    return std::min(Micros{CeilDiv(Full(limit) - state.value, limit.rate_num)}, kMaxWait);
  }
  static void Take(const LimitNumbers& limit, State& state, std::int64_t cost,
                   std::uint64_t /*slot*/) {
    bucket::Take(limit, state, cost);
  }
  static void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta);
  static ClockSeen Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now,
                           State& state);
};

}  // namespace sluice::algo::bucket
