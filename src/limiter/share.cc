#include "limiter/share.h"

#include <algorithm>

#include "base/wide_math.h"

namespace sluice::limiter {
namespace {

Result<Limit> Divide(const LimitNumbers& numbers, std::int64_t servers) {
  const std::int64_t cap = std::max<std::int64_t>(1, numbers.cap / servers);
  // Past the longest window it is refused below.
  const Wide period = std::min(Wide{numbers.interval.count()} * numbers.rate_den * servers,
                               Wide{kMaxWindow.count()} + 1);
  const Rate rate{numbers.rate_num, Micros{static_cast<std::int64_t>(period)}};
  const bool by_calendar = numbers.anchor != Anchor::kEpoch && numbers.anchor != Anchor::kFirstHit;
  switch (numbers.algorithm) {
    case Algorithm::kTokenBucket:
      return Limit::TokenBucket(
          {.capacity = cap,
           .refill = rate,
           .refill_interval = numbers.interval == Micros{1} ? Micros{0} : numbers.interval});
    case Algorithm::kLeakyBucket:
      return Limit::LeakyBucket({.capacity = cap, .leak = rate});
    case Algorithm::kFixedWindow:
      return Limit::FixedWindow({.limit = cap,
                                 .window = by_calendar ? Micros{0} : numbers.window,
                                 .anchor = numbers.anchor});
    case Algorithm::kSlidingWindowLog:
      return Limit::SlidingWindowLog({.limit = cap, .window = numbers.window});
    case Algorithm::kSlidingWindowCounter:
      return Limit::SlidingWindowCounter({.limit = cap, .window = numbers.window});
    case Algorithm::kConcurrency:
      return Limit::Concurrency({.limit = cap, .time_to_live = numbers.window});
  }
  return Error{ErrorCode::kInvalidLimit, "no such algorithm"};
}

}  // namespace

Limit ShareOf(const Limit& limit, std::uint32_t servers) {
  if (servers <= 1) return limit;
  const auto share = Divide(limit.numbers(), servers);
  if (share) return *share;
  // A rate too low to be written down: one call, and as good as nothing after it.
  return *Limit::TokenBucket({.capacity = 1, .refill = {1, kMaxWindow}});
}

}  // namespace sluice::limiter
