#include "limiter/share.h"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice::limiter {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// Tokens that arrive in a hundred years.
double Arriving(const Limit& limit) {
  const LimitNumbers& numbers = limit.numbers();
  return static_cast<double>(numbers.rate_num) / static_cast<double>(numbers.rate_den) *
         (static_cast<double>(kMaxWindow.count()) / static_cast<double>(numbers.interval.count()));
}

TEST(ShareTest, OfAnyLimitAllServersTogetherStayWithinIt) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    const auto servers = static_cast<std::uint32_t>(random() % 40 + 1);
    const auto cap = static_cast<std::int64_t>(random() % 1000 + servers);
    const Rate rate{static_cast<std::int64_t>(random() % 1000 + 1), seconds(random() % 10'000 + 1)};
    const Micros window = seconds(random() % 10'000 + 1);
    for (const auto& made : {Limit::TokenBucket({.capacity = cap, .refill = rate}),
                             Limit::LeakyBucket({.capacity = cap, .leak = rate}),
                             Limit::FixedWindow({.limit = cap, .window = window}),
                             Limit::SlidingWindowLog({.limit = cap, .window = window}),
                             Limit::SlidingWindowCounter({.limit = cap, .window = window}),
                             Limit::Concurrency({.limit = cap, .time_to_live = window})}) {
      ASSERT_TRUE(made);
      const Limit share = ShareOf(*made, servers);
      EXPECT_EQ(share.algorithm(), made->algorithm());
      EXPECT_EQ(share.cap(), made->cap() / servers);
      EXPECT_EQ(share.numbers().window, made->numbers().window);
      EXPECT_LE(Arriving(share) * servers, Arriving(*made) * (1 + 1e-12));
      EXPECT_GE(Arriving(share) * servers, Arriving(*made) * (1 - 1e-8));
    }
  }
}

TEST(ShareTest, OneServerHasAllOfIt) {
  const auto limit = Limit::TokenBucket({.capacity = 7, .refill = Rate::PerMinute(3)});
  EXPECT_EQ(ShareOf(*limit, 1), *limit);
  EXPECT_EQ(ShareOf(*limit, 0), *limit);
}

TEST(ShareTest, IsAtLeastOne) {
  const auto limit = Limit::FixedWindow({.limit = 3, .window = hours(1)});
  EXPECT_EQ(ShareOf(*limit, 10).cap(), 1);
}

TEST(ShareTest, KeepsWhereWindowsBegin) {
  const auto limit = Limit::FixedWindow({.limit = 100, .anchor = Anchor::kMonth});
  const Limit share = ShareOf(*limit, 4);
  EXPECT_EQ(share.cap(), 25);
  EXPECT_EQ(share.numbers().anchor, Anchor::kMonth);
}

TEST(ShareTest, OfARateTooLowToDivideIsOneCall) {
  const auto limit =
      Limit::TokenBucket({.capacity = 2, .refill = Rate::Per(1, kMaxWindow - hours(1))});
  ASSERT_TRUE(limit);
  EXPECT_EQ(ShareOf(*limit, 1000).cap(), 1);
}

}  // namespace
}  // namespace sluice::limiter
