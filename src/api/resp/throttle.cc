#include "api/resp/throttle.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "api/resp/counter.h"
#include "api/resp/rule_commands.h"
#include "base/wide_math.h"
#include "resp/encoder.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;
using store::Operation;

constexpr std::int64_t kLargestBurst = kMaxAmount - 1;
constexpr std::int64_t kLongestPeriod =
    std::chrono::duration_cast<std::chrono::seconds>(kMaxWindow).count();
// Of any bucket: whatever the numbers, a key is forgotten the same way.
constexpr ThrottleNumbers kAnyNumbers{.max_burst = 0, .count = 1, .period = 1};
constexpr CounterNumbers kAnyCounter{.bound = 1, .window_ms = 1};

std::int64_t SecondsRoundedUp(Micros wait) {
  return CeilDiv(wait.count(), std::chrono::microseconds(std::chrono::seconds(1)).count());
}

// By the verdict: that a check is allowed has no meaning when something is given back.
void AppendThrottled(const Verdict& verdict, Mode mode, std::string& out) {
  const bool limited = verdict.outcome != Outcome::kAllowed && mode != Mode::kShadow;
  const bool waiting_helps = limited && verdict.outcome == Outcome::kDenied;
  std::array<char, 128> room;
  constexpr std::string_view kHeader = "*5\r\n";
  std::memcpy(room.data(), kHeader.data(), kHeader.size());
  char* at = room.data() + kHeader.size();
  at = resp::WriteInteger(at, limited ? 1 : 0);
  at = resp::WriteInteger(at, verdict.limit);
  at = resp::WriteInteger(at, verdict.remaining);
  at = resp::WriteInteger(at, waiting_helps ? SecondsRoundedUp(verdict.retry_after) : -1);
  at = resp::WriteInteger(at, SecondsRoundedUp(verdict.reset_after));
  out.append(room.data(), at);
}

Result<Limit> LimitOf(const ThrottleNumbers& numbers) {
  return Limit::TokenBucket(
      {.capacity = numbers.max_burst + 1,
       .refill = Rate::Per(numbers.count, std::chrono::seconds(numbers.period))});
}

Result<Limit> LimitOf(const CounterNumbers& numbers) {
  return Limit::FixedWindow({.limit = numbers.bound,
                             .window = std::chrono::milliseconds(numbers.window_ms),
                             .anchor = Anchor::kFirstHit});
}

}  // namespace

const Limit* ThrottleLimits::Make(const ThrottleNumbers& numbers, const LimitCache::Numbers& key) {
  const auto limit = LimitOf(numbers);
  return limit && RefusalOf(*limit, kept_.bounds()).empty() ? kept_.Keep(key, *limit) : nullptr;
}

const Limit* ThrottleLimits::Make(const CounterNumbers& numbers, const LimitCache::Numbers& key) {
  const auto limit = LimitOf(numbers);
  return limit && RefusalOf(*limit, kept_.bounds()).empty() ? kept_.Keep(key, *limit) : nullptr;
}

std::string ThrottleLimits::WhyRefused(const CounterNumbers& numbers) const {
  return RefusalOf(LimitOf(numbers).value(), kept_.bounds());
}

std::string ThrottleLimits::WhyRefused(const ThrottleNumbers& numbers) const {
  const auto limit = LimitOf(numbers);
  if (limit) return RefusalOf(*limit, kept_.bounds());
  return "max_burst, count and period can't be held exactly together: "
         "use a smaller max_burst or a shorter period";
}

bool AskThrottle(ThrottleLimits& limits, RespArguments arguments, CheckRequest& check,
                 std::string& out) {
  ThrottleNumbers numbers;
  std::int64_t quantity = 1;
  if (!ReadBounded("max_burst", arguments[2], 0, kLargestBurst, numbers.max_burst, out) ||
      !ReadBounded("count", arguments[3], 1, kMaxAmount, numbers.count, out) ||
      !ReadBounded("period", arguments[4], 1, kLongestPeriod, numbers.period, out) ||
      (arguments.size() > 5 &&
       !ReadBounded("quantity", arguments[5], INT64_MIN, INT64_MAX, quantity, out))) {
    return false;
  }
  if (quantity < 0 && !limits.may_give_back()) {
    resp::AppendError(out, "ERR a negative quantity is refused: see the setting negative_hits");
    return false;
  }
  const Limit* const limit = limits.Find(numbers);
  if (limit == nullptr) {
    resp::AppendError(out, "ERR " + limits.WhyRefused(numbers));
    return false;
  }
  const std::int64_t cost = std::max(quantity, std::int64_t{0});
  check.operation = quantity > 0    ? Operation::kCheck
                    : quantity == 0 ? Operation::kPeek
                                    : Operation::kAdjust;
  check.AddLimit({.scope = kThrottleScope, .tag = arguments[1]}, *limit, cost);
  if (quantity >= 0) check.SetCallerKey();
  if (quantity < 0) {
    check.SetReceipt({.amount = -std::max(quantity, -kMaxAmount)});
  }
  return true;
}

void ReplyThrottle(const CheckRequest& check, std::string& out) {
  const bool unknown = check.ruling == Ruling::kDegraded && !check.uses().empty() &&
                       check.uses()[0].mode == Mode::kShadow;
  const std::int64_t cap = check.own_limit(0).cap();
  if (check.ruling == Ruling::kNotEnforced || check.ruling == Ruling::kExempted || unknown) {
    return AppendThrottled({.limit = cap, .remaining = cap}, Mode::kShadow, out);
  }
  if (check.ruling == Ruling::kBlocked) {
    const bool ends = check.block_rest >= Micros{0};
    const Micros rest = ends ? check.block_rest : Micros{0};
    return AppendThrottled({.outcome = ends ? Outcome::kDenied : Outcome::kNeverFits,
                            .limit = cap,
                            .retry_after = rest,
                            .reset_after = rest},
                           Mode::kEnforce, out);
  }
  if (check.ruling != Ruling::kDecided) return AppendUndecided(check, out);
  AppendThrottled(check.uses()[0].verdict, check.uses()[0].mode, out);
}

bool AskForget(ThrottleLimits& limits, RespArguments arguments, CheckRequest& check,
               std::string& out) {
  const RespArguments keys = arguments.subspan(1);
  constexpr std::size_t kMaxKeys = kMaxLimitsPerCall / 2;
  if (keys.size() > kMaxKeys) {
    resp::AppendError(out, "ERR at most " + std::to_string(kMaxKeys) + " keys at a time");
    return false;
  }
  check.operation = Operation::kReset;
  for (const std::string_view key : keys) {
    check.AddLimit({.scope = kThrottleScope, .tag = key}, *limits.Find(kAnyNumbers), 0);
    check.AddLimit({.scope = kCounterScope, .tag = key}, *limits.FindCounter(kAnyCounter), 0);
  }
  return true;
}

}  // namespace sluice::api
