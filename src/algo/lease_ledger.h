#pragma once

#include "algo/lease.h"

/// Helpers shared by lease.cc and lease_grant.cc.
namespace sluice::algo::lease {

inline bool IsBucket(const LimitNumbers& limit) {
  return limit.algorithm == Algorithm::kTokenBucket;
}
inline bool IsSliding(const LimitNumbers& limit) {
  return limit.algorithm == Algorithm::kSlidingWindowCounter;
}

/// Returns the end of the current window of an advanced state.
WallTime WindowEnd(const LimitNumbers& limit, const State& state);

/// Adds outstanding tokens with this expiry.
void AddOutstanding(Ledger& ledger, WallTime expires, std::int64_t tokens);

}  // namespace sluice::algo::lease
