#include "api/resp/counter.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "api/resp/rule_commands.h"
#include "base/ascii.h"
#include "resp/encoder.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;
using store::Operation;

constexpr std::int64_t kLongestWindow =
    std::chrono::duration_cast<std::chrono::milliseconds>(kMaxWindow).count();
constexpr std::int64_t kMillisecondsPerSecond = 1000;
// To read a counter: whatever its window, the count is the same.
constexpr CounterNumbers kReadNumbers{.bound = kMaxAmount, .window_ms = 1};

struct IncrexOptions {
  std::int64_t increment = 1;
  CounterNumbers numbers{.bound = kMaxAmount, .window_ms = 0};
  bool keeps_expiry = false;
};

enum class Option : std::uint8_t { kIncrement, kBound, kSeconds, kMillis, kKeepsExpiry, kUnknown };

Option OptionOf(std::string_view word) {
  constexpr std::array<std::string_view, 5> kNames = {"byint", "ubound", "ex", "px", "enx"};
  const auto* const found = std::find_if(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return EqualIgnoringCase(word, name);
  });
  return static_cast<Option>(found - kNames.begin());
}

void AppendUnknownOption(std::string_view word, std::string& out) {
  std::string message = "ERR INCREX does not support '";
  message.append(Quotable(word));
  resp::AppendError(out, message.append("': use BYINT, UBOUND, EX, PX and ENX, each once"));
}

// False: `out` has the error reply.
bool ReadOptions(RespArguments words, IncrexOptions& options, std::string& out) {
  std::array<bool, static_cast<std::size_t>(Option::kUnknown)> given{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Option option = OptionOf(words[i]);
    if (option == Option::kUnknown ||
        std::exchange(given[static_cast<std::size_t>(option)], true)) {
      AppendUnknownOption(words[i], out);
      return false;
    }
    if (option == Option::kKeepsExpiry) {
      options.keeps_expiry = true;
      continue;
    }
    if (i + 1 == words.size()) {
      resp::AppendError(out,
                        std::string("ERR INCREX: '").append(words[i]).append("' has no value"));
      return false;
    }
    const std::string_view name = words[i];
    const std::string_view value = words[++i];
    std::int64_t& window = options.numbers.window_ms;
    bool valid = false;
    switch (option) {
      case Option::kIncrement:
        valid = ReadBounded(name, value, -kMaxAmount, kMaxAmount, options.increment, out);
        break;
      case Option::kBound:
        valid = ReadBounded(name, value, 1, kMaxAmount, options.numbers.bound, out);
        break;
      case Option::kSeconds:
        valid = ReadBounded(name, value, 1, kLongestWindow / kMillisecondsPerSecond, window, out);
        window *= kMillisecondsPerSecond;
        break;
      default:
        valid = ReadBounded(name, value, 1, kLongestWindow, window, out);
    }
    if (!valid) return false;
  }
  const bool has_window = given[static_cast<std::size_t>(Option::kSeconds)] !=
                          given[static_cast<std::size_t>(Option::kMillis)];
  if (has_window && options.keeps_expiry) return true;
  resp::AppendError(out,
                    "ERR INCREX needs EX or PX, and ENX: a window that begins at the first hit");
  return false;
}

void AppendPair(std::int64_t count, std::int64_t applied, std::string& out) {
  resp::AppendArrayHeader(out, 2);
  resp::AppendInteger(out, count);
  resp::AppendInteger(out, applied);
}

}  // namespace

bool AskIncrex(ThrottleLimits& limits, RespArguments arguments, CheckRequest& check,
               std::string& out) {
  IncrexOptions options;
  if (!ReadOptions(arguments.subspan(2), options, out)) return false;
  const std::int64_t n = options.increment;
  if (n < 0 && !limits.may_give_back()) {
    resp::AppendError(out, "ERR a negative increment is refused: see the setting negative_hits");
    return false;
  }
  const Limit* const limit = limits.FindCounter(options.numbers);
  if (limit == nullptr) {
    resp::AppendError(out, "ERR " + limits.WhyRefused(options.numbers));
    return false;
  }
  check.operation = n > 0 ? Operation::kCheck : n == 0 ? Operation::kPeek : Operation::kAdjust;
  check.cost = std::max(n, std::int64_t{0});
  check.AddLimit({.scope = kCounterScope, .tag = arguments[1]}, *limit, check.cost);
  if (n >= 0) check.SetCallerKey();
  // Later than every window's start: of the current one, whenever that began.
  if (n < 0) check.SetReceipt({.amount = -n, .at = kMaxTime});
  return true;
}

void ReplyIncrex(const CheckRequest& check, std::string& out) {
  const std::int64_t bound = check.own_limit(0).cap();
  const bool unknown = check.ruling == Ruling::kDegraded && !check.uses().empty() &&
                       check.uses()[0].mode == Mode::kShadow;
  // As the first hit of a window.
  if (check.ruling == Ruling::kNotEnforced || check.ruling == Ruling::kExempted || unknown) {
    return AppendPair(check.cost, check.cost, out);
  }
  if (check.ruling == Ruling::kBlocked) return AppendPair(bound, 0, out);
  if (check.ruling != Ruling::kDecided) return AppendUndecided(check, out);
  const store::KeyUse& use = check.uses()[0];
  const std::int64_t count = use.verdict.limit - use.verdict.remaining;
  if (check.operation == Operation::kAdjust) return AppendPair(count, -use.receipt.amount, out);
  const bool is_refused = use.verdict.outcome != Outcome::kAllowed && use.mode != Mode::kShadow;
  if (!is_refused) return AppendPair(count, check.cost, out);
  // Without a bound the caller has one of its own, which only a count beyond it exceeds.
  AppendPair(bound == kMaxAmount ? kMaxAmount : count, 0, out);
}

bool AskCounter(ThrottleLimits& limits, RespArguments arguments, CheckRequest& check,
                std::string& /*out*/) {
  check.operation = Operation::kInspect;
  check.AddLimit({.scope = kCounterScope, .tag = arguments[1]}, *limits.FindCounter(kReadNumbers),
                 0);
  return true;
}

void ReplyCount(const CheckRequest& check, std::string& out) {
  if (check.ruling != Ruling::kDecided) return AppendUndecided(check, out);
  const store::Inspection& inspection = check.inspection(0);
  // RESP3 clients take this null of RESP2, too.
  if (!inspection.live) return resp::AppendNull(out, resp::Protocol::kResp2);
  resp::AppendBulkInteger(out, kMaxAmount - inspection.level);
}

void ReplyTimeToLive(const CheckRequest& check, std::string& out) {
  if (check.ruling != Ruling::kDecided) return AppendUndecided(check, out);
  const store::Inspection& inspection = check.inspection(0);
  constexpr std::int64_t kNoSuchKey = -2;
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(inspection.fresh_after);
  resp::AppendInteger(out, inspection.live ? rest.count() : kNoSuchKey);
}

}  // namespace sluice::api
