#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sluice/limit.h>

#include "algo/testing/choices.h"
#include "algo/testing/model.h"

namespace sluice::algo::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr TokenBucketSpec kGoodBucket{.capacity = 10, .refill = Rate::PerSecond(1)};

std::string MessageOf(const Result<Limit>& result) {
  EXPECT_FALSE(result.ok());
  if (result.ok()) return "";
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidLimit);
  return result.error().message;
}

// ---- What is held

TEST(Limit, ReducesTheRate) {
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerMinute(90)}).value();
  EXPECT_EQ(limit.numbers().rate_num, 3);
  EXPECT_EQ(limit.numbers().rate_den, 2'000'000);
  EXPECT_EQ(limit.numbers().interval, Micros{1});
}

TEST(Limit, CountsTheRatePerRefillInterval) {
  const Limit limit =
      Limit::TokenBucket(
          {.capacity = 10, .refill = Rate::PerSecond(3), .refill_interval = seconds(10)})
          .value();
  EXPECT_EQ(limit.numbers().rate_num, 30);
  EXPECT_EQ(limit.numbers().rate_den, 1);
  EXPECT_EQ(limit.numbers().interval, seconds(10));
}

TEST(Limit, RaisesTheCapByBursts) {
  TokenBucketSpec spec = kGoodBucket;
  spec.capacity = 15;
  spec.burst_multiplier = 1.15;
  EXPECT_EQ(Limit::TokenBucket(spec)->cap(), 17);
  spec.burst_allowance = 100;
  EXPECT_EQ(Limit::TokenBucket(spec)->cap(), 117);
}

TEST(Limit, TreatsMultipliersAsDecimals) {
  // As a double 1.15 · 100 is less than 115.
  TokenBucketSpec spec = kGoodBucket;
  spec.capacity = 100;
  spec.burst_multiplier = 1.15;
  EXPECT_EQ(Limit::TokenBucket(spec)->cap(), 115);
}

TEST(Limit, RepresentsTheExtremesExactly) {
  EXPECT_TRUE(Limit::TokenBucket({.capacity = 1, .refill = Rate::Per(1, kMaxWindow)}).ok());
  EXPECT_TRUE(
      Limit::TokenBucket({.capacity = kMaxAmount, .refill = Rate::PerSecond(100'000'000)}).ok());
  EXPECT_TRUE(Limit::FixedWindow({.limit = kMaxAmount, .window = kMaxWindow}).ok());
  EXPECT_TRUE(Limit::SlidingWindowCounter({.limit = kMaxAmount, .window = Micros{1}}).ok());
  EXPECT_TRUE(Limit::SlidingWindowLog({.limit = kMaxLogLimit, .window = kMaxWindow}).ok());
  EXPECT_TRUE(Limit::Concurrency({.limit = kMaxSlots, .time_to_live = Micros{1}}).ok());
}

TEST(Limit, SharesItsShapeWithEqualLimits) {
  const Limit a = Limit::TokenBucket(kGoodBucket).value();
  const Limit b = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerMinute(60)}).value();
  const Limit c = Limit::TokenBucket({.capacity = 11, .refill = Rate::PerSecond(1)}).value();
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_NE(a, c);
  EXPECT_NE(a.shape(), c.shape());
}

TEST(Limit, NamesItsAlgorithm) {
  EXPECT_STREQ(AlgorithmName(Algorithm::kTokenBucket), "token_bucket");
  EXPECT_STREQ(AlgorithmName(Algorithm::kLeakyBucket), "leaky_bucket");
  EXPECT_STREQ(AlgorithmName(Algorithm::kFixedWindow), "fixed_window");
  EXPECT_STREQ(AlgorithmName(Algorithm::kSlidingWindowLog), "sliding_window_log");
  EXPECT_STREQ(AlgorithmName(Algorithm::kSlidingWindowCounter), "sliding_window_counter");
  EXPECT_STREQ(AlgorithmName(Algorithm::kConcurrency), "concurrency");
}

// ---- What is refused, and what the message says

TEST(Limit, RejectsAnInvalidCapacity) {
  TokenBucketSpec spec = kGoodBucket;
  spec.capacity = 0;
  EXPECT_EQ(MessageOf(Limit::TokenBucket(spec)),
            "capacity must be between 1 and 9007199254740992, found 0");
  spec.capacity = -3;
  EXPECT_THAT(MessageOf(Limit::TokenBucket(spec)), HasSubstr("found -3"));
  spec.capacity = kMaxAmount + 1;
  EXPECT_THAT(MessageOf(Limit::TokenBucket(spec)), HasSubstr("found 9007199254740993"));
  EXPECT_THAT(MessageOf(Limit::LeakyBucket({.capacity = 0, .leak = Rate::PerSecond(1)})),
              HasSubstr("capacity"));
}

TEST(Limit, RejectsAnInvalidRate) {
  TokenBucketSpec spec = kGoodBucket;
  spec.refill = {0, seconds(1)};
  EXPECT_THAT(MessageOf(Limit::TokenBucket(spec)), HasSubstr("refill.tokens"));
  spec.refill = {1, seconds(0)};
  EXPECT_THAT(MessageOf(Limit::TokenBucket(spec)), HasSubstr("refill.period"));
  spec.refill = {1, kMaxWindow + Micros{1}};
  EXPECT_THAT(MessageOf(Limit::TokenBucket(spec)), HasSubstr("100 years"));
  EXPECT_THAT(MessageOf(Limit::LeakyBucket({.capacity = 1, .leak = {-1, seconds(1)}})),
              HasSubstr("leak.tokens"));
}

TEST(Limit, RejectsInvalidBursts) {
  TokenBucketSpec spec = kGoodBucket;
  spec.burst_allowance = -1;
  EXPECT_THAT(MessageOf(Limit::TokenBucket(spec)), HasSubstr("burst_allowance"));
  for (const double multiplier : {0.5, -1.0, 2e6, std::nan(""), HUGE_VAL}) {
    spec = kGoodBucket;
    spec.burst_multiplier = multiplier;
    EXPECT_THAT(MessageOf(Limit::TokenBucket(spec)), HasSubstr("burst_multiplier")) << multiplier;
  }
  spec = kGoodBucket;
  spec.capacity = kMaxAmount;
  spec.burst_allowance = 1;
  EXPECT_THAT(MessageOf(Limit::TokenBucket(spec)), HasSubstr("2^53"));
}

TEST(Limit, RejectsWindowsOfZeroAndOfTooLongDuration) {
  for (const Micros window : {Micros{0}, Micros{-1}, kMaxWindow + Micros{1}, Micros::max()}) {
    EXPECT_THAT(MessageOf(Limit::FixedWindow({.limit = 1, .window = window})), HasSubstr("window"));
    EXPECT_THAT(MessageOf(Limit::SlidingWindowLog({.limit = 1, .window = window})),
                HasSubstr("window"));
    EXPECT_THAT(MessageOf(Limit::SlidingWindowCounter({.limit = 1, .window = window})),
                HasSubstr("window"));
    EXPECT_THAT(MessageOf(Limit::Concurrency({.limit = 1, .time_to_live = window})),
                HasSubstr("time_to_live"));
  }
}

TEST(Limit, RejectsAWindowWithACalendarAnchor) {
  EXPECT_THAT(MessageOf(Limit::FixedWindow(
                  {.limit = 1, .window = hours(24) * 30, .anchor = Anchor::kMonth})),
              HasSubstr("calendar"));
}

TEST(Limit, RejectsLogsAndSlotsAboveTheirMaximum) {
  EXPECT_THAT(MessageOf(Limit::SlidingWindowLog({.limit = kMaxLogLimit + 1, .window = seconds(1)})),
              HasSubstr("1000000"));
  EXPECT_THAT(MessageOf(Limit::Concurrency({.limit = kMaxSlots + 1})), HasSubstr("1000000"));
}

TEST(Limit, ExplainsARateThatCannotBeRepresented) {
  const std::string message =
      MessageOf(Limit::TokenBucket({.capacity = kMaxAmount, .refill = Rate::Per(1, seconds(1))}));
  EXPECT_THAT(message, HasSubstr("1 per 1000000 µs"));
  EXPECT_THAT(message, HasSubstr("2^53"));
}

TEST(Limit, ErrorsNameTheFieldThatTheirMessageBeginsWith) {
  TokenBucketSpec multiplied = kGoodBucket;
  multiplied.burst_multiplier = 0;
  TokenBucketSpec in_steps = kGoodBucket;
  in_steps.refill_interval = Micros{-1};
  const std::pair<std::string_view, Result<Limit>> cases[] = {
      {"capacity", Limit::TokenBucket({.capacity = 0, .refill = Rate::PerSecond(1)})},
      {"capacity",
       Limit::TokenBucket(
           {.capacity = kMaxAmount, .refill = Rate::PerSecond(1), .burst_allowance = 1})},
      {"refill", Limit::TokenBucket({.capacity = 1, .refill = {}})},
      {"refill", Limit::TokenBucket({.capacity = kMaxAmount, .refill = Rate::PerSecond(1)})},
      {"burst_multiplier", Limit::TokenBucket(multiplied)},
      {"refill_interval", Limit::TokenBucket(in_steps)},
      {"leak", Limit::LeakyBucket({.capacity = 1, .leak = {}})},
      {"limit", Limit::FixedWindow({.window = seconds(1)})},
      {"window", Limit::SlidingWindowLog({.limit = 1})},
      {"time_to_live", Limit::Concurrency({.limit = 1, .time_to_live = Micros{0}})},
  };
  for (const auto& [field, limit] : cases) {
    ASSERT_FALSE(limit) << field;
    EXPECT_EQ(limit.error().field, field);
    EXPECT_THAT(limit.error().message, StartsWith(field));
  }
}

// ---- Numbers

TEST(Limit, RoundTripsThroughItsNumbers) {
  TokenBucketSpec in_steps = kGoodBucket;
  in_steps.refill_interval = hours(24 * 365);
  in_steps.refill = {1'000'003, kMaxWindow};
  in_steps.capacity = 1;
  for (const auto& limit :
       {Limit::TokenBucket(kGoodBucket), Limit::TokenBucket(in_steps),
        Limit::LeakyBucket({.capacity = 9, .leak = Rate::PerDay(13)}),
        Limit::FixedWindow({.limit = 5, .window = seconds(1), .anchor = Anchor::kFirstHit}),
        Limit::FixedWindow({.limit = 5, .anchor = Anchor::kMonth}),
        Limit::SlidingWindowLog({.limit = 5, .window = seconds(60)}),
        Limit::SlidingWindowCounter({.limit = 5, .window = seconds(60)}),
        Limit::Concurrency({.limit = 5})}) {
    ASSERT_TRUE(limit);
    const auto again = Limit::FromNumbers(limit->numbers());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, *limit);
  }
}

TEST(Limit, RejectsInvalidNumbers) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const LimitNumbers good = Limit::TokenBucket(kGoodBucket)->numbers();
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, kMost}) {
    for (std::int64_t LimitNumbers::* const number :
         {&LimitNumbers::cap, &LimitNumbers::rate_num, &LimitNumbers::rate_den}) {
      LimitNumbers numbers = good;
      numbers.*number = wrong;
      EXPECT_FALSE(Limit::FromNumbers(numbers)) << wrong;
    }
    LimitNumbers numbers = good;
    numbers.interval = Micros{wrong};
    EXPECT_FALSE(Limit::FromNumbers(numbers)) << wrong;
  }
  LimitNumbers unknown = good;
  unknown.algorithm = static_cast<Algorithm>(99);
  EXPECT_FALSE(Limit::FromNumbers(unknown));
}

// ---- Rates that are held lower

/// The largest fraction that is at most `rate` and has a denominator of at most `most`, found by
/// trying all of them.
Rational LargestBelow(const Rational& rate, std::int64_t most) {
  Rational best = 0;
  for (std::int64_t den = 1; den <= most; ++den) {
    const Integer num = Integer(numerator(rate)) * den / denominator(rate);
    if (num * denominator(best) > numerator(best) * den) best = Rational(num, den);
  }
  return best;
}

TEST(Limit, RoundsARateDownToTheNextRepresentableOne) {
  constexpr std::int64_t kMaxDenominator = 40'000;
  constexpr std::int64_t kCapacity = kMaxAmount / kMaxDenominator;
  int held_count = 0;
  for (const std::uint64_t seed : TestSeeds(100)) {
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
    RandomChoices choices(seed);
    const Rate rate{choices.Between(1, 1'000'000), Micros{choices.Between(1, 1'000'000)}};
    const Rational exact(rate.tokens, rate.period.count());
    const Rational best = LargestBelow(exact, kMaxDenominator);
    const bool is_close = (exact - best) * 1'000'000'000 < exact;
    const Result<Limit> limit = Limit::TokenBucket({.capacity = kCapacity, .refill = rate});
    ASSERT_EQ(limit.ok(), is_close) << rate.tokens << " per " << rate.period.count();
    if (!limit.ok()) continue;
    ++held_count;
    EXPECT_EQ(Rational(limit->numbers().rate_num, limit->numbers().rate_den), best)
        << rate.tokens << " per " << rate.period.count();
  }
  EXPECT_GT(held_count, 0);
}

TEST(Limit, NeverRoundsARateUp) {
  for (const std::uint64_t seed : TestSeeds(20'000)) {
    RandomChoices choices(seed);
    const TokenBucketSpec spec{.capacity = AnyMagnitude(choices, kMaxAmount),
                               .refill = {AnyMagnitude(choices, kMaxAmount),
                                          Micros{AnyMagnitude(choices, kMaxWindow.count())}}};
    const Result<Limit> limit = Limit::TokenBucket(spec);
    if (!limit.ok()) continue;
    const LimitNumbers& numbers = limit->numbers();
    const Rational exact(spec.refill.tokens, spec.refill.period.count());
    const Rational held(numbers.rate_num, numbers.rate_den);
    ASSERT_LE(held, exact) << "SLUICE_TEST_SEED=" << seed;
    ASSERT_LT((exact - held) * 1'000'000'000, exact) << "SLUICE_TEST_SEED=" << seed;
    ASSERT_LE(Integer(numbers.cap) * numbers.rate_den, Integer(kMaxAmount));
  }
}

}  // namespace
}  // namespace sluice::algo::testing
