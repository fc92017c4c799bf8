#include "lease/testing/simulation.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"

namespace sluice::lease::testing {
namespace {

using algo::testing::Choices;
using algo::testing::RandomChoices;
using algo::testing::TestSeeds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Limit Bucket(std::int64_t capacity, std::int64_t per_second) {
  return *Limit::TokenBucket({.capacity = capacity, .refill = Rate::PerSecond(per_second)});
}

Limit AnyLeasedLimit(Choices& choices, std::int64_t rate) {
  const Micros window{choices.Between(200'000, 3'000'000)};
  const std::int64_t cap = std::max<std::int64_t>(60, rate * choices.Between(1, 30) / 10);
  switch (choices.Below(4)) {
    case 0:
      return *Limit::FixedWindow({.limit = cap, .window = window});
    case 1:
      return *Limit::SlidingWindowCounter({.limit = cap, .window = window});
    case 2:
      return *Limit::TokenBucket({.capacity = cap,
                                  .refill = Rate::PerSecond(rate),
                                  .refill_interval = Micros{choices.Between(1, 200'000)}});
    default:
      return *Limit::TokenBucket({.capacity = cap, .refill = Rate::Per(rate * 7, seconds(7))});
  }
}

/// Anything that may happen to a few keys.
Setting AnySetting(Choices& choices) {
  Setting setting;
  setting.seed = choices.Below(1'000'000'000);
  setting.nodes =
      static_cast<std::size_t>(choices.OneIn(4) ? choices.Between(20, 200) : choices.Between(2, 8));
  setting.duration = Micros{choices.Between(500'000, 6'000'000)};
  for (std::int64_t key = choices.Between(1, 4); key > 0; --key) {
    const std::int64_t rate = choices.OneOf<std::int64_t>({3, 50, 300, 2'000, 10'000});
    const double times_over = choices.OneOf({0.3, 0.95, 1.1, 2.0, 15.0});
    setting.limits.push_back(AnyLeasedLimit(choices, rate));
    setting.load.push_back(std::min(static_cast<double>(rate) * times_over, 20'000.0));
  }
  if (choices.OneIn(3)) setting.largest_cost = choices.Between(2, 30);
  if (choices.OneIn(4)) setting.jump_after = Micros{choices.Between(1'000, 200'000)};
  if (choices.OneIn(6)) setting.burst_every = Micros{choices.Between(50'000, 1'500'000)};
  setting.longest_delay = Micros{choices.OneOf<std::int64_t>({200, 5'000, 60'000})};
  setting.slow_delay = Micros{choices.OneOf<std::int64_t>({2'500, 40'000, 400'000})};
  setting.slow_share = choices.OneOf({0.0, 0.01, 0.3});
  setting.loss = choices.OneOf({0.0, 0.0, 0.01, 0.3});
  setting.crashes_per_second = choices.OneOf({0.0, 0.0, 1.0, 20.0});
  setting.clock_error = choices.OneOf({0.0, 0.0003, 0.0009});
  return setting;
}

TEST(LeaseSimulation, NeverAdmitsMoreThanTheLimitWhateverHappens) {
  std::uint64_t calls = 0;
  for (const std::uint64_t seed : TestSeeds(60)) {
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
    RandomChoices choices(seed);
    const Result result = Simulate(AnySetting(choices));
    calls += result.calls;
    ASSERT_EQ(result.over, 0U) << "of " << result.allowed << " in " << result.calls << " calls";
  }
  std::printf("%llu calls\n", static_cast<unsigned long long>(calls));
}

Setting Steady(double load, const Limit& limit, Micros duration) {
  Setting setting;
  setting.load = {load};
  setting.limits = {limit};
  setting.duration = duration;
  return setting;
}

TEST(LeaseSimulation, DeniesNothingBelowTheLimit) {
  for (const std::uint64_t seed : TestSeeds(3)) {
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
    Setting setting = Steady(1'800, Bucket(2'000, 2'000), seconds(10));
    setting.seed = seed;
    const Result result = Simulate(setting);
    EXPECT_EQ(result.deficit, 0U);
    EXPECT_LT(result.StoreShare(), 0.05);
  }
}

/// While a key goes from full to empty a part of its burst may be missed, once; from then on
/// everything that arrives is admitted.
TEST(LeaseSimulation, AdmitsAllThatArrivesWhenTheLimitIsReached) {
  for (const std::uint64_t seed : TestSeeds(3)) {
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
    for (const double load : {2'200.0, 20'000.0}) {
      Setting setting = Steady(load, Bucket(2'000, 2'000), seconds(60));
      setting.seed = seed;
      const Result result = Simulate(setting);
      EXPECT_LT(result.deficit, 300U) << load;
      EXPECT_LT(result.StoreShare(), 0.05) << load;
      EXPECT_EQ(result.over, 0U) << load;
    }
  }
}

TEST(LeaseSimulation, LosesLittleToCrashes) {
  Setting setting = Steady(2'200, Bucket(2'000, 2'000), seconds(30));
  setting.crashes_per_second = 1;
  setting.seed = TestSeeds(1)[0];
  SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(setting.seed));
  const Result result = Simulate(setting);
  EXPECT_GT(result.crashes, 0U);
  EXPECT_LT(result.DeficitShare(), 0.02);
  EXPECT_EQ(result.over, 0U);
}

TEST(LeaseSimulation, LeavesSmallLimitsToTheStore) {
  Setting setting = Steady(500, Bucket(49, 400), seconds(10));
  const Result leased = Simulate(setting);
  setting.exact = true;
  const Result exact = Simulate(setting);
  EXPECT_EQ(leased.allowed, exact.allowed);
  EXPECT_EQ(leased.store_calls, leased.calls);
}

}  // namespace
}  // namespace sluice::lease::testing
