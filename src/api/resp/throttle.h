#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sluice/limit.h>

#include "api/limit_cache.h"
#include "api/resp/arguments.h"
#include "envoy/negative_hits.h"
#include "limiter/check_request.h"

/// CL.THROTTLE key max_burst count period [quantity], as redis-cell has it: a token bucket of
/// max_burst + 1 tokens that are refilled at `count` in `period` seconds.
///
/// The arithmetic is exact, so it differs from redis-cell's where that one rounds: an interval is
/// not cut to whole nanoseconds, and seconds are rounded up also if less than a millisecond is
/// missing, so that a caller that waits that long passes. When the numbers of a key change, it
/// keeps the tokens that it has; redis-cell keeps the time that it takes to fill up.
namespace sluice::api {

struct ThrottleNumbers {
  std::int64_t max_burst = 0;
  std::int64_t count = 0;
  std::int64_t period = 0;  ///< Seconds.
};

/// The numbers of a counter: see counter.h.
struct CounterNumbers {
  std::int64_t bound = 0;
  std::int64_t window_ms = 0;
};

/// The limits that clients ask for, and what they may do with them.
class ThrottleLimits {
 public:
  explicit ThrottleLimits(const RequestLimitBounds& bounds = {},
                          envoy::NegativeHits negative_hits = envoy::NegativeHits::kEnvoyDomains)
      : negative_hits_(negative_hits), kept_(bounds) {}

  /// Whether a negative quantity gives back.
  [[nodiscard]] bool may_give_back() const { return negative_hits_ == envoy::NegativeHits::kOn; }

  /// Null: WhyRefused says why. Good until another is asked for.
  [[nodiscard]] const Limit* Find(const ThrottleNumbers& numbers) {
    const LimitCache::Numbers key = {numbers.max_burst, numbers.count, numbers.period};
    const Limit* const kept = kept_.Find(key);
    return kept != nullptr ? kept : Make(numbers, key);
  }
  [[nodiscard]] const Limit* FindCounter(const CounterNumbers& numbers) {
    const LimitCache::Numbers key = {numbers.bound, numbers.window_ms, 0, kIsCounter};
    const Limit* const kept = kept_.Find(key);
    return kept != nullptr ? kept : Make(numbers, key);
  }
  /// Why there is no limit of these numbers.
  [[nodiscard]] std::string WhyRefused(const ThrottleNumbers& numbers) const;
  [[nodiscard]] std::string WhyRefused(const CounterNumbers& numbers) const;

 private:
  /// Keeps numbers of counters apart from equal ones of buckets.
  static constexpr std::int64_t kIsCounter = 1;

  const Limit* Make(const ThrottleNumbers& numbers, const LimitCache::Numbers& key);
  const Limit* Make(const CounterNumbers& numbers, const LimitCache::Numbers& key);

  const envoy::NegativeHits negative_hits_;
  LimitCache kept_;
};

/// The part of the keys of CL.THROTTLE that keeps them apart from those of rules.
inline constexpr std::string_view kThrottleScope = ":throttle";

/// Makes a check of the command. False: `out` has the error reply.
bool AskThrottle(ThrottleLimits& limits, RespArguments arguments, limiter::CheckRequest& check,
                 std::string& out);
/// Five integers: limited, max_burst + 1, remaining, retry_after, reset_after.
void ReplyThrottle(const limiter::CheckRequest& check, std::string& out);

/// DEL and UNLINK: forgets keys of CL.THROTTLE and of INCREX.
bool AskForget(ThrottleLimits& limits, RespArguments arguments, limiter::CheckRequest& check,
               std::string& out);

}  // namespace sluice::api
