#include "api/limit_cache.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace sluice::api {
namespace {

Limit Window(std::int64_t limit) {
  return *Limit::FixedWindow({.limit = limit, .window = std::chrono::seconds(1)});
}

TEST(LimitCache, FindsWhatWasKeptUnderTheSameNumbersOnly) {
  LimitCache cache;
  EXPECT_EQ(cache.Find({1, 2, 3, 4}), nullptr);
  EXPECT_EQ(cache.Find({}), nullptr);
  EXPECT_EQ(*cache.Keep({1, 2, 3, 4}, Window(7)), Window(7));
  ASSERT_NE(cache.Find({1, 2, 3, 4}), nullptr);
  EXPECT_EQ(*cache.Find({1, 2, 3, 4}), Window(7));
  EXPECT_EQ(cache.Find({1, 2, 4, 3}), nullptr);
}

TEST(LimitCache, NeverGivesTheLimitOfOtherNumbersHoweverManyThereAre) {
  LimitCache cache;
  int found = 0;
  constexpr std::int64_t kMany = 5000;
  for (std::int64_t i = 1; i <= kMany; ++i) cache.Keep({i, -i}, Window(i));
  for (std::int64_t i = 1; i <= kMany; ++i) {
    const Limit* const kept = cache.Find({i, -i});
    if (kept == nullptr) continue;
    EXPECT_EQ(*kept, Window(i));
    ++found;
  }
  EXPECT_GT(found, 100);
  EXPECT_LT(found, kMany);
}

}  // namespace
}  // namespace sluice::api
