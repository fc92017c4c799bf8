#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>

#include "api/resp_arguments.h"
#include "limiter/question.h"

/// CL.THROTTLE key max_burst count period [quantity], as redis-cell has it: a token bucket of
/// max_burst + 1 tokens that are refilled at `count` in `period` seconds.
///
/// The arithmetic is exact, so it differs from redis-cell's where that one rounds: an interval is
/// not cut to whole nanoseconds, and seconds are rounded up also if less than a millisecond is
/// missing, so that whoever waits that long passes. When the numbers of a key change, it keeps the
/// tokens that it has; redis-cell keeps the time that it takes to fill up.
namespace sluice::api {

struct ThrottleNumbers {
  std::int64_t max_burst = 0;
  std::int64_t count = 0;
  std::int64_t period = 0;  ///< Seconds.

  friend bool operator==(const ThrottleNumbers&, const ThrottleNumbers&) = default;
};

/// The limits that clients ask for, kept because making one costs more than a check. Each set of
/// numbers has one place, which the last to come has.
class ThrottleLimits {
 public:
  ThrottleLimits() : kept_(kPlaces) {}

  /// Null: the numbers can't be held exactly together.
  [[nodiscard]] const Limit* Find(const ThrottleNumbers& numbers) {
    Kept& kept = kept_[PlaceOf(numbers)];
    if (kept.limit && kept.numbers == numbers) return &*kept.limit;
    return Make(numbers, kept);
  }

 private:
  static constexpr std::size_t kPlaces = 1024;

  struct Kept {
    ThrottleNumbers numbers;
    std::optional<Limit> limit;
  };

  static std::size_t PlaceOf(const ThrottleNumbers& numbers);
  static const Limit* Make(const ThrottleNumbers& numbers, Kept& kept);

  std::vector<Kept> kept_;
};

/// The part of the keys of CL.THROTTLE that keeps them apart from those of rules.
inline constexpr std::string_view kThrottleScope = ":throttle";

/// Makes a question of the command. False: `out` has the error reply.
bool AskThrottle(ThrottleLimits& limits, RespArguments arguments, limiter::Question& question,
                 std::string& out);
/// Five integers: limited, max_burst + 1, remaining, retry_after, reset_after.
void ReplyThrottle(const limiter::Question& question, std::string& out);

/// DEL and UNLINK: forgets keys of CL.THROTTLE.
bool AskForget(ThrottleLimits& limits, RespArguments arguments, limiter::Question& question,
               std::string& out);

}  // namespace sluice::api
