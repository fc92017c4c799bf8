#include "algo/state.h"

#include "algo/bucket.h"
#include "algo/concurrency.h"
#include "algo/fixed_window.h"
#include "algo/sliding_counter.h"
#include "algo/sliding_log.h"

namespace sluice::algo {

State Fresh(const LimitNumbers& limit, WallTime now) {
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return bucket::Fresh(limit, now);
    default:
      return {.at = now};
  }
}

bool NeedsHistory(Algorithm algorithm) {
  return algorithm == Algorithm::kSlidingWindowLog || algorithm == Algorithm::kConcurrency;
}

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state) {
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return bucket::Advance(limit, now, state);
    case Algorithm::kFixedWindow:
      return fixed_window::Advance(limit, now, state);
    case Algorithm::kSlidingWindowLog:
      return sliding_log::Advance(limit, now, state);
    case Algorithm::kSlidingWindowCounter:
      return sliding_counter::Advance(limit, now, state);
    case Algorithm::kConcurrency:
      return concurrency::Advance(limit, now, state);
  }
  __builtin_unreachable();
}

std::int64_t Left(const LimitNumbers& limit, WallTime now, const State& state) {
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return bucket::Left(limit, state);
    case Algorithm::kFixedWindow:
      return fixed_window::Left(limit, state);
    case Algorithm::kSlidingWindowLog:
      return sliding_log::Left(limit, state);
    case Algorithm::kSlidingWindowCounter:
      return sliding_counter::Left(limit, now, state);
    case Algorithm::kConcurrency:
      return concurrency::Left(limit, state);
  }
  __builtin_unreachable();
}

Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, std::int64_t cost) {
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return bucket::WaitFor(limit, now, state, cost);
    case Algorithm::kFixedWindow:
      return fixed_window::WaitFor(limit, now, state);
    case Algorithm::kSlidingWindowLog:
      return sliding_log::WaitFor(limit, now, state, cost);
    case Algorithm::kSlidingWindowCounter:
      return sliding_counter::WaitFor(limit, now, state, cost);
    case Algorithm::kConcurrency:
      return concurrency::WaitFor(limit, now, state, cost);
  }
  __builtin_unreachable();
}

WallTime FreshAt(const LimitNumbers& limit, const State& state) {
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return bucket::FreshAt(limit, state);
    case Algorithm::kFixedWindow:
      return fixed_window::FreshAt(limit, state);
    case Algorithm::kSlidingWindowLog:
      return sliding_log::FreshAt(limit, state);
    case Algorithm::kSlidingWindowCounter:
      return sliding_counter::FreshAt(limit, state);
    case Algorithm::kConcurrency:
      return concurrency::FreshAt(limit, state);
  }
  __builtin_unreachable();
}

Micros DelayOf(const LimitNumbers& limit, const State& state) {
  return limit.algorithm == Algorithm::kLeakyBucket ? bucket::DelayOf(limit, state) : Micros{0};
}

void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot) {
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return bucket::Take(limit, state, cost);
    case Algorithm::kFixedWindow:
      return fixed_window::Take(state, cost);
    case Algorithm::kSlidingWindowLog:
      return sliding_log::Take(limit, state, cost);
    case Algorithm::kSlidingWindowCounter:
      return sliding_counter::Take(state, cost);
    case Algorithm::kConcurrency:
      return concurrency::Take(limit, state, cost, slot);
  }
  __builtin_unreachable();
}

void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta) {
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return bucket::Adjust(limit, state, delta);
    case Algorithm::kFixedWindow:
      return fixed_window::Adjust(limit, state, at, delta);
    case Algorithm::kSlidingWindowLog:
      return sliding_log::Adjust(limit, state, at, delta);
    case Algorithm::kSlidingWindowCounter:
      return sliding_counter::Adjust(limit, state, at, delta);
    case Algorithm::kConcurrency:
      return;
  }
}

void Commit(const LimitNumbers& limit, State& state) {
  if (limit.algorithm == Algorithm::kSlidingWindowLog) sliding_log::Commit(state);
  if (limit.algorithm == Algorithm::kConcurrency) concurrency::Commit(limit, state);
}

bool HoldsSlot(const State& state, std::uint64_t slot) { return concurrency::Holds(state, slot); }

bool ReleaseSlot(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  return concurrency::Release(limit, state, slot);
}

bool RenewSlot(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  return concurrency::Renew(limit, state, slot);
}

ClockSeen Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now, State& state) {
  switch (to.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      bucket::Convert(from, to, state);
      return ClockSeen::kForward;
    case Algorithm::kFixedWindow:
      fixed_window::Convert(from, to, now, state);
      return ClockSeen::kForward;
    case Algorithm::kSlidingWindowCounter:
      return sliding_counter::Convert(from, to, now, state);
    case Algorithm::kSlidingWindowLog:
    case Algorithm::kConcurrency:
      return ClockSeen::kForward;
  }
  __builtin_unreachable();
}

}  // namespace sluice::algo
