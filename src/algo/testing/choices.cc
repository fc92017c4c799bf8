#include "algo/testing/choices.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

namespace sluice::algo::testing {

namespace {

using std::chrono::hours;
using std::chrono::seconds;

Micros AnyPeriod(Choices& choices) {
  if (choices.OneIn(4)) return Micros{AnyMagnitude(choices, kMaxWindow.count())};
  return choices.OneOf<Micros>({Micros{1}, Micros{7}, Micros{1000}, Micros{999'983}, seconds{1},
                                seconds{10}, seconds{60}, hours{1}, hours{24}});
}

std::int64_t AnyCap(Choices& choices, std::int64_t most) {
  if (choices.OneIn(4)) return AnyMagnitude(choices, most);
  return choices.Between(1, std::min<std::int64_t>(20, most));
}

Result<Limit> TryBucket(Choices& choices, Algorithm algorithm) {
  const std::int64_t capacity = AnyCap(choices, kMaxAmount);
  const Rate rate{AnyCap(choices, kMaxAmount), AnyPeriod(choices)};
  if (algorithm == Algorithm::kLeakyBucket) {
    return Limit::LeakyBucket({.capacity = capacity, .leak = rate});
  }
  return Limit::TokenBucket(
      {.capacity = capacity,
       .refill = rate,
       .burst_allowance = choices.OneIn(4) ? choices.Between(0, 5) : 0,
       .burst_multiplier = choices.OneIn(4) ? 1.5 : 1.0,
       .refill_interval = choices.OneIn(3) ? AnyPeriod(choices) : Micros{0}});
}

Result<Limit> TryFixedWindow(Choices& choices) {
  FixedWindowSpec spec{.limit = AnyCap(choices, kMaxAmount), .window = AnyPeriod(choices)};
  spec.anchor = choices.OneOf({Anchor::kEpoch, Anchor::kEpoch, Anchor::kFirstHit,
                               Anchor::kFirstHit, Anchor::kDay, Anchor::kWeek, Anchor::kMonth,
                               Anchor::kYear});
  if (spec.anchor != Anchor::kEpoch && spec.anchor != Anchor::kFirstHit) spec.window = Micros{0};
  return Limit::FixedWindow(spec);
}

Result<Limit> TryLimit(Choices& choices, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return TryBucket(choices, algorithm);
    case Algorithm::kFixedWindow:
      return TryFixedWindow(choices);
    case Algorithm::kSlidingWindowLog:
      return Limit::SlidingWindowLog(
          {.limit = AnyCap(choices, kMaxLogLimit), .window = AnyPeriod(choices)});
    case Algorithm::kSlidingWindowCounter:
      return Limit::SlidingWindowCounter(
          {.limit = AnyCap(choices, kMaxAmount), .window = AnyPeriod(choices)});
    case Algorithm::kConcurrency:
      break;
  }
  return Limit::Concurrency(
      {.limit = AnyCap(choices, kMaxSlots), .time_to_live = AnyPeriod(choices)});
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
  while (!choices.exhausted()) {
    // Buckets whose rate can't be held exactly are refused.
    if (Result<Limit> limit = TryLimit(choices, algorithm)) return *limit;
  }
  ByteChoices nothing({});
  return TryLimit(nothing, algorithm).value();
}

Algorithm AnyAlgorithm(Choices& choices) {
  return choices.OneOf(kAlgorithms);
}

std::vector<std::uint64_t> TestSeeds(std::size_t count) {
  if (const char* text = std::getenv("SLUICE_TEST_SEED")) return {std::stoull(text)};
  const std::uint64_t first = std::random_device{}();
  std::printf("seeds %" PRIu64 " to %" PRIu64 "\n", first, first + count - 1);
  std::vector<std::uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

}  // namespace sluice::algo::testing
