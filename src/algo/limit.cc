#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include <sluice/limit.h>

#include "algo/rational.h"
#include "algo/shape.h"
#include "base/wide_math.h"

namespace sluice {
namespace {

using algo::Fraction;

// A rate may be held lower than asked for by less than one part in this many.
constexpr std::int64_t kRatePrecision = 1'000'000'000;
// Burst multipliers are taken as decimals: 1.15 is 115 hundredths, not the nearest double.
constexpr std::int64_t kMultiplierScale = 1'000'000;

Error Refuse(std::string message) { return {ErrorCode::kInvalidLimit, std::move(message)}; }

std::string Found(std::int64_t value) { return ", found " + std::to_string(value); }

// With no more digits than it needs: 0.5.
std::string Written(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

bool InRange(std::int64_t value, std::int64_t low, std::int64_t high) {
  return low <= value && value <= high;
}

Error OutOfRange(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
  return Refuse(std::string(field) + " must be between " + std::to_string(low) + " and " +
                std::to_string(high) + Found(value));
}

Error OutOfRange(const char* field, Micros value) {
  return Refuse(std::string(field) + " must be between 1 µs and 100 years (" +
                std::to_string(kMaxWindow.count()) + " µs)" + Found(value.count()) + " µs");
}

bool IsWindow(Micros value) { return Micros{1} <= value && value <= kMaxWindow; }

// Sets rate_num and rate_den to the rate per `interval`, or to the closest lower one that keeps
// cap × rate_den exact.
Result<LimitNumbers> WithRate(LimitNumbers numbers, const char* field, Rate rate) {
  if (!InRange(rate.tokens, 1, kMaxAmount)) {
    return OutOfRange((std::string(field) + ".tokens").c_str(), rate.tokens, 1, kMaxAmount);
  }
  if (!IsWindow(rate.period)) {
    return OutOfRange((std::string(field) + ".period").c_str(), rate.period);
  }
  const Fraction exact =
      algo::Reduced({Wide{rate.tokens} * numbers.interval.count(), Wide{rate.period.count()}});
  if (exact.numerator > kMaxAmount) {
    return Refuse(std::string(field) + " brings more than 2^53 tokens at a time");
  }
  const std::int64_t max_denominator = kMaxAmount / numbers.cap;
  Fraction held = exact;
  if (exact.denominator > max_denominator) {
    held = algo::LargestBelow(exact, max_denominator);
    const Wide wanted = exact.numerator * held.denominator;
    const Wide missing = wanted - held.numerator * exact.denominator;
    if (held.numerator == 0 || missing > (wanted - 1) / kRatePrecision) {
      return Refuse(std::string(field) + " of " + std::to_string(rate.tokens) + " per " +
                    std::to_string(rate.period.count()) +
                    " µs can't be held exactly with a cap of " + std::to_string(numbers.cap) +
                    ": cap × the rate's denominator must be at most 2^53; use a smaller cap, or a "
                    "rate with a shorter period");
    }
  }
  numbers.rate_num = static_cast<std::int64_t>(held.numerator);
  numbers.rate_den = static_cast<std::int64_t>(held.denominator);
  return numbers;
}

Result<std::int64_t> CapWithBurst(const TokenBucketSpec& spec) {
  if (!InRange(spec.capacity, 1, kMaxAmount)) {
    return OutOfRange("capacity", spec.capacity, 1, kMaxAmount);
  }
  if (!InRange(spec.burst_allowance, 0, kMaxAmount)) {
    return OutOfRange("burst_allowance", spec.burst_allowance, 0, kMaxAmount);
  }
  if (!(spec.burst_multiplier >= 1.0 && spec.burst_multiplier <= 1e6)) {
    return Refuse("burst_multiplier must be between 1 and 1000000, found " +
                  Written(spec.burst_multiplier));
  }
  const std::int64_t scaled =
      std::llround(spec.burst_multiplier * static_cast<double>(kMultiplierScale));
  const Wide cap = Wide{spec.capacity} * scaled / kMultiplierScale + spec.burst_allowance;
  if (cap > kMaxAmount) return Refuse("capacity with its bursts must be at most 2^53");
  return static_cast<std::int64_t>(cap);
}

Result<LimitNumbers> Window(Algorithm algorithm, std::int64_t limit, std::int64_t max_limit,
                            const char* window_field, Micros window) {
  if (!InRange(limit, 1, max_limit)) return OutOfRange("limit", limit, 1, max_limit);
  if (!IsWindow(window)) return OutOfRange(window_field, window);
  LimitNumbers numbers;
  numbers.algorithm = algorithm;
  numbers.cap = limit;
  numbers.window = window;
  return numbers;
}

}  // namespace

Limit::Limit(const LimitNumbers& numbers) : numbers_(numbers), shape_(algo::ShapeOf(numbers)) {}

Result<Limit> Limit::TokenBucket(const TokenBucketSpec& spec) {
  const auto cap = CapWithBurst(spec);
  if (!cap) return cap.error();
  LimitNumbers numbers;
  numbers.algorithm = Algorithm::kTokenBucket;
  numbers.cap = *cap;
  if (spec.refill_interval != Micros{0}) {
    if (!IsWindow(spec.refill_interval)) return OutOfRange("refill_interval", spec.refill_interval);
    numbers.interval = spec.refill_interval;
  }
  const auto with_rate = WithRate(numbers, "refill", spec.refill);
  if (!with_rate) return with_rate.error();
  return Limit(*with_rate);
}

Result<Limit> Limit::LeakyBucket(const LeakyBucketSpec& spec) {
  if (!InRange(spec.capacity, 1, kMaxAmount)) {
    return OutOfRange("capacity", spec.capacity, 1, kMaxAmount);
  }
  LimitNumbers numbers;
  numbers.algorithm = Algorithm::kLeakyBucket;
  numbers.cap = spec.capacity;
  const auto with_rate = WithRate(numbers, "leak", spec.leak);
  if (!with_rate) return with_rate.error();
  return Limit(*with_rate);
}

Result<Limit> Limit::FixedWindow(const FixedWindowSpec& spec) {
  const bool calendar = spec.anchor != Anchor::kEpoch && spec.anchor != Anchor::kFirstHit;
  if (calendar && spec.window != Micros{0}) {
    return Refuse("window must be left out with a calendar anchor" + Found(spec.window.count()) +
                  " µs");
  }
  // A calendar window has no length of its own; any valid one passes the check.
  auto numbers = Window(Algorithm::kFixedWindow, spec.limit, kMaxAmount, "window",
                        calendar ? Micros{1} : spec.window);
  if (!numbers) return numbers.error();
  numbers->anchor = spec.anchor;
  if (calendar) numbers->window = Micros{0};
  return Limit(*numbers);
}

Result<Limit> Limit::SlidingWindowLog(const SlidingWindowSpec& spec) {
  const auto numbers =
      Window(Algorithm::kSlidingWindowLog, spec.limit, kMaxLogLimit, "window", spec.window);
  if (!numbers) return numbers.error();
  return Limit(*numbers);
}

Result<Limit> Limit::SlidingWindowCounter(const SlidingWindowSpec& spec) {
  const auto numbers =
      Window(Algorithm::kSlidingWindowCounter, spec.limit, kMaxAmount, "window", spec.window);
  if (!numbers) return numbers.error();
  return Limit(*numbers);
}

Result<Limit> Limit::Concurrency(const ConcurrencySpec& spec) {
  const auto numbers =
      Window(Algorithm::kConcurrency, spec.limit, kMaxSlots, "time_to_live", spec.time_to_live);
  if (!numbers) return numbers.error();
  return Limit(*numbers);
}

const char* AlgorithmName(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return "token_bucket";
    case Algorithm::kLeakyBucket:
      return "leaky_bucket";
    case Algorithm::kFixedWindow:
      return "fixed_window";
    case Algorithm::kSlidingWindowLog:
      return "sliding_window_log";
    case Algorithm::kSlidingWindowCounter:
      return "sliding_window_counter";
    case Algorithm::kConcurrency:
      return "concurrency";
  }
  return "unknown";
}

}  // namespace sluice
