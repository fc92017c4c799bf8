#pragma once

#include "algo/lease.h"

/// What the entries of the lease arithmetic share.
namespace sluice::algo::lease {

inline bool IsBucket(const LimitNumbers& limit) {
  return limit.algorithm == Algorithm::kTokenBucket;
}
inline bool IsSliding(const LimitNumbers& limit) {
  return limit.algorithm == Algorithm::kSlidingWindowCounter;
}

/// Where the window ends that an advanced state is in.
WallTime WindowEnd(const LimitNumbers& limit, const State& state);

/// So many tokens more are outstanding until then.
void AddPart(Ledger& ledger, WallTime expires, std::int64_t tokens);

}  // namespace sluice::algo::lease
