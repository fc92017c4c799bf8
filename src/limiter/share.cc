#include "limiter/share.h"

#include <algorithm>

#include "algo/algorithm_info.h"
#include "base/wide_math.h"

namespace sluice::limiter {

Limit ShareOf(const Limit& limit, std::uint32_t servers) {
  if (servers <= 1) return limit;
  LimitNumbers numbers = limit.numbers();
  numbers.cap = std::max<std::int64_t>(1, numbers.cap / servers);
  const Wide period = Wide{numbers.interval.count()} * numbers.rate_den * servers;
  const bool is_bucket = algo::IsBucket(limit.algorithm());
  const bool too_slow = is_bucket && period > kMaxWindow.count();
  if (is_bucket && !too_slow) numbers.rate_den *= servers;
  if (const auto share = Limit::FromNumbers(numbers); share && !too_slow) return *share;
  // A rate too low to be written down: one call, and as good as nothing after it.
  return *Limit::TokenBucket({.capacity = 1, .refill = {1, kMaxWindow}});
}

}  // namespace sluice::limiter
