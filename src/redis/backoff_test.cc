#include "redis/backoff.h"

#include <chrono>

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

using std::chrono::milliseconds;

TEST(BackoffTest, TheBoundDoublesUpToItsMaximum) {
  Backoff backoff(milliseconds(10), milliseconds(35));
  for (const int bound : {10, 20, 35, 35}) {
    EXPECT_EQ(backoff.bound(), milliseconds(bound));
    EXPECT_LE(backoff.Next(), milliseconds(bound));
  }
  backoff.Reset();
  EXPECT_EQ(backoff.bound(), milliseconds(10));
}

TEST(BackoffTest, PausesAreSpreadOverTheWholeSpan) {
  int in_lower_half = 0;
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    Backoff backoff(milliseconds(10), milliseconds(10));
    const Micros pause = backoff.Next();
    ASSERT_GE(pause, Micros{0});
    if (pause < milliseconds(5)) ++in_lower_half;
  }
  EXPECT_GT(in_lower_half, kTries / 3);
  EXPECT_LT(in_lower_half, 2 * kTries / 3);
}

TEST(BackoffTest, NoPauseAtAllIsPossible) {
  Backoff backoff(Micros{0}, Micros{0});
  EXPECT_EQ(backoff.Next(), Micros{0});
}

}  // namespace
}  // namespace sluice::redis
