#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include <sluice/limit.h>

#include "algo/shape.h"
#include "base/rational.h"
#include "base/wide_math.h"

namespace sluice {
namespace {

// A rate may be held lower than asked for by less than one part in this many.
constexpr std::int64_t kRatePrecision = 1'000'000'000;
// Burst multipliers are taken as decimals: 1.15 is 115 hundredths, not the nearest double.
constexpr std::int64_t kMultiplierScale = 1'000'000;

Error Refuse(std::string_view field, std::string_view why) {
  return {ErrorCode::kInvalidLimit, std::string(field).append(why), field};
}

std::string Found(std::int64_t value) { return ", found " + std::to_string(value); }

// With no more digits than it needs: 0.5.
std::string Written(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

bool InRange(std::int64_t value, std::int64_t low, std::int64_t high) {
  return low <= value && value <= high;
}

// `part` is of the field: ".tokens".
Error OutOfRange(std::string_view field, std::string_view part, std::int64_t value,
                 std::int64_t low, std::int64_t high) {
  return Refuse(field, std::string(part) + " must be between " + std::to_string(low) + " and " +
                           std::to_string(high) + Found(value));
}

Error OutOfRange(std::string_view field, std::string_view part, Micros value) {
  return Refuse(field, std::string(part) + " must be between 1 µs and 100 years (" +
                           std::to_string(kMaxWindow.count()) + " µs)" + Found(value.count()) +
                           " µs");
}

bool IsWindow(Micros value) { return Micros{1} <= value && value <= kMaxWindow; }

// Sets rate_num and rate_den to `exact` tokens per interval, or to the closest lower rate that
// keeps cap × rate_den exact.
Result<LimitNumbers> WithRate(LimitNumbers numbers, std::string_view field, Fraction exact,
                              Rate shown) {
  if (exact.numerator > kMaxAmount) {
    return Refuse(field, " brings more than 2^53 tokens at a time");
  }
  const std::int64_t max_denominator = kMaxAmount / numbers.cap;
  Fraction held = exact;
  if (exact.denominator > max_denominator) {
    held = LargestBelow(exact, max_denominator);
    const Wide wanted = exact.numerator * held.denominator;
    const Wide missing = wanted - held.numerator * exact.denominator;
    if (held.numerator == 0 || missing > (wanted - 1) / kRatePrecision) {
      return Refuse(field, " of " + std::to_string(shown.tokens) + " per " +
                               std::to_string(shown.period.count()) +
                               " µs can't be held exactly with a cap of " +
                               std::to_string(numbers.cap) +
                               ": cap × the rate's denominator must be at most 2^53; use a smaller "
                               "cap, or a rate with a shorter period");
    }
  }
  numbers.rate_num = static_cast<std::int64_t>(held.numerator);
  numbers.rate_den = static_cast<std::int64_t>(held.denominator);
  return numbers;
}

Result<LimitNumbers> WithRate(const LimitNumbers& numbers, std::string_view field, Rate rate) {
  if (!InRange(rate.tokens, 1, kMaxAmount)) {
    return OutOfRange(field, ".tokens", rate.tokens, 1, kMaxAmount);
  }
  if (!IsWindow(rate.period)) return OutOfRange(field, ".period", rate.period);
  return WithRate(
      numbers, field,
      Reduced({Wide{rate.tokens} * numbers.interval.count(), Wide{rate.period.count()}}), rate);
}

Result<LimitNumbers> CheckBucket(const LimitNumbers& numbers) {
  const bool leaky = numbers.algorithm == Algorithm::kLeakyBucket;
  const std::string_view field = leaky ? "leak" : "refill";
  if (!InRange(numbers.cap, 1, kMaxAmount)) {
    return OutOfRange("capacity", "", numbers.cap, 1, kMaxAmount);
  }
  if (leaky ? numbers.interval != Micros{1} : !IsWindow(numbers.interval)) {
    return OutOfRange("refill_interval", "", numbers.interval);
  }
  if (!InRange(numbers.rate_num, 1, kMaxAmount)) {
    return OutOfRange(field, ".tokens", numbers.rate_num, 1, kMaxAmount);
  }
  if (!InRange(numbers.rate_den, 1, kMaxAmount)) {
    return OutOfRange(field, ".period", Micros{numbers.rate_den});
  }
  const LimitNumbers bucket{
      .algorithm = numbers.algorithm, .cap = numbers.cap, .interval = numbers.interval};
  return WithRate(bucket, field, Reduced({numbers.rate_num, numbers.rate_den}),
                  {numbers.rate_num, Micros{numbers.rate_den}});
}

Result<std::int64_t> CapWithBurst(const TokenBucketSpec& spec) {
  if (!InRange(spec.capacity, 1, kMaxAmount)) {
    return OutOfRange("capacity", "", spec.capacity, 1, kMaxAmount);
  }
  if (!InRange(spec.burst_allowance, 0, kMaxAmount)) {
    return OutOfRange("burst_allowance", "", spec.burst_allowance, 0, kMaxAmount);
  }
  if (!(spec.burst_multiplier >= 1.0 && spec.burst_multiplier <= 1e6)) {
    return Refuse("burst_multiplier",
                  " must be between 1 and 1000000, found " + Written(spec.burst_multiplier));
  }
  const std::int64_t scaled =
      std::llround(spec.burst_multiplier * static_cast<double>(kMultiplierScale));
  const Wide cap = Wide{spec.capacity} * scaled / kMultiplierScale + spec.burst_allowance;
  if (cap > kMaxAmount) return Refuse("capacity", " must be at most 2^53 with its bursts");
  return static_cast<std::int64_t>(cap);
}

Result<LimitNumbers> Window(Algorithm algorithm, std::int64_t limit, std::int64_t max_limit,
                            std::string_view window_field, Micros window) {
  if (!InRange(limit, 1, max_limit)) return OutOfRange("limit", "", limit, 1, max_limit);
  if (!IsWindow(window)) return OutOfRange(window_field, "", window);
  LimitNumbers numbers;
  numbers.algorithm = algorithm;
  numbers.cap = limit;
  numbers.window = window;
  return numbers;
}

}  // namespace

Limit::Limit(const LimitNumbers& numbers) : numbers_(numbers), shape_(algo::ShapeOf(numbers)) {}

Result<Limit> Limit::Checked(const Result<LimitNumbers>& numbers) {
  if (!numbers) return numbers.error();
  return Limit(*numbers);
}

Result<Limit> Limit::TokenBucket(const TokenBucketSpec& spec) {
  const auto cap = CapWithBurst(spec);
  if (!cap) return cap.error();
  LimitNumbers numbers;
  numbers.algorithm = Algorithm::kTokenBucket;
  numbers.cap = *cap;
  if (spec.refill_interval != Micros{0}) {
    if (!IsWindow(spec.refill_interval))
      return OutOfRange("refill_interval", "", spec.refill_interval);
    numbers.interval = spec.refill_interval;
  }
  return Checked(WithRate(numbers, "refill", spec.refill));
}

Result<Limit> Limit::LeakyBucket(const LeakyBucketSpec& spec) {
  if (!InRange(spec.capacity, 1, kMaxAmount)) {
    return OutOfRange("capacity", "", spec.capacity, 1, kMaxAmount);
  }
  LimitNumbers numbers;
  numbers.algorithm = Algorithm::kLeakyBucket;
  numbers.cap = spec.capacity;
  return Checked(WithRate(numbers, "leak", spec.leak));
}

Result<Limit> Limit::FixedWindow(const FixedWindowSpec& spec) {
  const bool calendar = spec.anchor != Anchor::kEpoch && spec.anchor != Anchor::kFirstHit;
  if (calendar && spec.window != Micros{0}) {
    return Refuse("window",
                  " must be left out with a calendar anchor" + Found(spec.window.count()) + " µs");
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
  return Checked(
      Window(Algorithm::kSlidingWindowLog, spec.limit, kMaxLogLimit, "window", spec.window));
}

Result<Limit> Limit::SlidingWindowCounter(const SlidingWindowSpec& spec) {
  return Checked(
      Window(Algorithm::kSlidingWindowCounter, spec.limit, kMaxAmount, "window", spec.window));
}

Result<Limit> Limit::Concurrency(const ConcurrencySpec& spec) {
  return Checked(
      Window(Algorithm::kConcurrency, spec.limit, kMaxSlots, "time_to_live", spec.time_to_live));
}

Result<Limit> Limit::FromNumbers(const LimitNumbers& numbers) {
  switch (numbers.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return Checked(CheckBucket(numbers));
    case Algorithm::kFixedWindow:
      return FixedWindow({numbers.cap, numbers.window, numbers.anchor});
    case Algorithm::kSlidingWindowLog:
      return SlidingWindowLog({numbers.cap, numbers.window});
    case Algorithm::kSlidingWindowCounter:
      return SlidingWindowCounter({numbers.cap, numbers.window});
    case Algorithm::kConcurrency:
      return Concurrency({numbers.cap, numbers.window});
  }
  return Refuse("algorithm", " is unknown");
}

}  // namespace sluice
