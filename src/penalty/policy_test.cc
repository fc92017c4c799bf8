#include "penalty/policy.h"

#include <chrono>
#include <random>

#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice::penalty {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kPolicyStart{seconds(1'900'000'000)};

rules::Penalty SomePenalty() {
  rules::Penalty penalty;
  penalty.denials = 20;
  penalty.within = minutes(1);
  penalty.steps = {minutes(1), minutes(10), hours(1)};
  penalty.forget = hours(24);
  return penalty;
}

PastPenalty PastOf(const NextPenalty& next) {
  return {.step = next.step, .offenses = next.offenses, .until = next.until};
}

TEST(PenaltyPolicyTest, EachOffenseTakesTheNextStepAndTheLastRepeats) {
  const rules::Penalty penalty = SomePenalty();
  WallTime now = kPolicyStart;
  std::optional<PastPenalty> past;
  for (const auto& [step, duration] :
       {std::pair(1U, Micros(minutes(1))), {2U, minutes(10)}, {3U, hours(1)}, {3U, hours(1)}}) {
    const auto next = PenaltyAfter(past, penalty, now, 0);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->step, step);
    EXPECT_EQ(next->until - now, duration);
    EXPECT_EQ(next->forgotten_at, next->until + hours(24) * step);
    past = PastOf(*next);
    now = next->until;
  }
  EXPECT_EQ(past->offenses, 4U);
}

TEST(PenaltyPolicyTest, AnOffenseWhileAPenaltyLastsIsVoid) {
  const rules::Penalty penalty = SomePenalty();
  const PastPenalty past{.until = kPolicyStart + seconds(10)};
  EXPECT_FALSE(PenaltyAfter(past, penalty, kPolicyStart, 0));
  EXPECT_FALSE(PenaltyAfter(past, penalty, past.until - Micros{1}, 0));
  EXPECT_TRUE(PenaltyAfter(past, penalty, past.until, 0));
}

TEST(PenaltyPolicyTest, EachQuietTimeTakesOneStepBack) {
  const rules::Penalty penalty = SomePenalty();
  const PastPenalty past{.step = 3, .offenses = 9, .until = kPolicyStart};
  EXPECT_EQ(PenaltyAfter(past, penalty, kPolicyStart + hours(24) - Micros{1}, 0)->step, 3U);
  EXPECT_EQ(PenaltyAfter(past, penalty, kPolicyStart + hours(24), 0)->step, 3U);
  EXPECT_EQ(PenaltyAfter(past, penalty, kPolicyStart + hours(48), 0)->step, 2U);
  EXPECT_EQ(PenaltyAfter(past, penalty, kPolicyStart + hours(72), 0)->step, 1U);
  EXPECT_EQ(PenaltyAfter(past, penalty, kPolicyStart + hours(24'000), 0)->step, 1U);
}

TEST(PenaltyPolicyTest, JitterAddsAtMostItsShare) {
  rules::Penalty penalty = SomePenalty();
  penalty.jitter = 1'000;
  std::mt19937_64 random(TestSeed());
  Micros least = hours(1);
  Micros most{0};
  for (int i = 0; i < 1000; ++i) {
    const Micros duration = PenaltyAfter({}, penalty, kPolicyStart, random())->until - kPolicyStart;
    least = std::min(least, duration);
    most = std::max(most, duration);
  }
  EXPECT_GE(least, minutes(1));
  EXPECT_LE(most, seconds(66));
  EXPECT_GT(most - least, seconds(3));
}

TEST(PenaltyPolicyTest, FewerStepsThanBeforeEndWithTheLast) {
  rules::Penalty penalty = SomePenalty();
  penalty.steps = {minutes(5)};
  const PastPenalty past{.step = 9, .offenses = 9, .until = kPolicyStart};
  const auto next = PenaltyAfter(past, penalty, kPolicyStart, 0);
  EXPECT_EQ(next->step, 1U);
  EXPECT_EQ(next->until, kPolicyStart + minutes(5));
}

}  // namespace
}  // namespace sluice::penalty
