#include "algo/testing/choices.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>
#include <string>

#include "base/testing/seed.h"

namespace sluice::algo::testing {

namespace {

using std::chrono::hours;
using std::chrono::seconds;

Micros AnyPeriod(Choices& choices) {
  if (choices.OneIn(4)) return Micros{AnyMagnitude(choices, kMaxWindow.count())};
  return choices.OneOf<Micros>({Micros{1}, Micros{7}, Micros{1000}, Micros{999'983}, seconds{1},
                                seconds{10}, seconds{60}, hours{1}, hours{24}});
}

/// What the numbers of a limit are chosen from.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual std::int64_t Amount(std::int64_t most) = 0;
  virtual Micros Period() = 0;
};

class AnyNumbers final : public Numbers {
 public:
  explicit AnyNumbers(Choices& choices) : choices_(choices) {}
  std::int64_t Amount(std::int64_t most) override {
    if (choices_.OneIn(4)) return AnyMagnitude(choices_, most);
    return choices_.Between(1, std::min<std::int64_t>(20, most));
  }
  Micros Period() override { return AnyPeriod(choices_); }

 private:
  Choices& choices_;
};

class SmallNumbers final : public Numbers {
 public:
  SmallNumbers(Choices& choices, Micros about) : choices_(choices), about_(about) {}
  std::int64_t Amount(std::int64_t /*most*/) override { return choices_.Between(1, 10); }
  Micros Period() override { return std::min(about_ * choices_.Between(1, 4), kMaxWindow); }

 private:
  Choices& choices_;
  Micros about_;
};

Result<Limit> TryBucket(Choices& choices, Numbers& numbers, Algorithm algorithm) {
  const std::int64_t capacity = numbers.Amount(kMaxAmount);
  const Rate rate{numbers.Amount(kMaxAmount), numbers.Period()};
  if (algorithm == Algorithm::kLeakyBucket) {
    return Limit::LeakyBucket({.capacity = capacity, .leak = rate});
  }
  return Limit::TokenBucket({.capacity = capacity,
                             .refill = rate,
                             .burst_allowance = choices.OneIn(4) ? choices.Between(0, 5) : 0,
                             .burst_multiplier = choices.OneIn(4) ? 1.5 : 1.0,
                             .refill_interval = choices.OneIn(3) ? numbers.Period() : Micros{0}});
}

Result<Limit> TryFixedWindow(Choices& choices, Numbers& numbers) {
  FixedWindowSpec spec{.limit = numbers.Amount(kMaxAmount), .window = numbers.Period()};
  spec.anchor = choices.OneOf({Anchor::kEpoch, Anchor::kEpoch, Anchor::kFirstHit, Anchor::kFirstHit,
                               Anchor::kDay, Anchor::kWeek, Anchor::kMonth, Anchor::kYear});
  if (spec.anchor != Anchor::kEpoch && spec.anchor != Anchor::kFirstHit) spec.window = Micros{0};
  return Limit::FixedWindow(spec);
}

Result<Limit> TryLimit(Choices& choices, Numbers& numbers, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return TryBucket(choices, numbers, algorithm);
    case Algorithm::kFixedWindow:
      return TryFixedWindow(choices, numbers);
    case Algorithm::kSlidingWindowLog:
      return Limit::SlidingWindowLog(
          {.limit = numbers.Amount(kMaxLogLimit), .window = numbers.Period()});
    case Algorithm::kSlidingWindowCounter:
      return Limit::SlidingWindowCounter(
          {.limit = numbers.Amount(kMaxAmount), .window = numbers.Period()});
    case Algorithm::kConcurrency:
      break;
  }
  return Limit::Concurrency({.limit = numbers.Amount(kMaxSlots), .time_to_live = numbers.Period()});
}

/// Buckets whose rate can't be held exactly are refused, and others tried.
Limit LimitFrom(Choices& choices, Numbers& numbers, Algorithm algorithm) {
  while (!choices.exhausted()) {
    if (Result<Limit> limit = TryLimit(choices, numbers, algorithm)) return *limit;
  }
  ByteChoices nothing({});
  AnyNumbers smallest(nothing);
  return TryLimit(nothing, smallest, algorithm).value();
}

}  // namespace

std::int64_t Choices::Between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(high - low) + 1));
}

std::uint64_t ByteChoices::Below(std::uint64_t bound) {
  std::uint64_t value = 0;
  for (std::uint64_t rest = bound - 1; rest > 0; rest >>= 8) {
    if (bytes_.empty()) break;
    value = value << 8 | bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  return value % bound;
}

std::int64_t AnyMagnitude(Choices& choices, std::int64_t most) {
  const auto bits = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(most)));
  const std::int64_t chosen = choices.Between(1, bits);
  const std::uint64_t top = std::uint64_t{1} << (chosen - 1);
  const std::uint64_t offset = choices.OneOf({std::uint64_t{0}, top - 1, choices.Below(top)});
  return std::min(most, static_cast<std::int64_t>(top + offset));
}

Limit AnyLimit(Choices& choices, Algorithm algorithm) {
  AnyNumbers numbers(choices);
  return LimitFrom(choices, numbers, algorithm);
}

Limit AnySmallLimit(Choices& choices, Algorithm algorithm, Micros about) {
  SmallNumbers numbers(choices, about);
  return LimitFrom(choices, numbers, algorithm);
}

Algorithm AnyAlgorithm(Choices& choices) { return choices.OneOf(kAlgorithms); }

std::vector<std::uint64_t> TestSeeds(std::size_t count) {
  std::vector<std::uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), std::uint64_t{TestSeed()});
  return seeds;
}

}  // namespace sluice::algo::testing
