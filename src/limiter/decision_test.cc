#include "limiter/decision.h"

#include <array>

#include <gtest/gtest.h>

namespace sluice::limiter {
namespace {

using store::KeyUse;
using store::StoreCall;

KeyUse Said(Outcome outcome, std::int64_t remaining, Micros retry, Micros reset = Micros{0}) {
  KeyUse use;
  use.verdict = {.outcome = outcome,
                 .limit = 100,
                 .remaining = remaining,
                 .retry_after = retry,
                 .reset_after = reset};
  return use;
}

TEST(DecisionTest, OfADenialTheLimitWithTheLongestWaitIsTightest) {
  std::array uses{Said(Outcome::kAllowed, 1, Micros{0}), Said(Outcome::kDenied, 0, Micros{5}),
                  Said(Outcome::kDenied, 0, Micros{9}), Said(Outcome::kDenied, 0, Micros{7})};
  const Decision decision = DecisionOf(StoreCall{.uses = uses, .allowed = false});
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.index, 2);
  EXPECT_EQ(decision.tightest.retry_after, Micros{9});
}

TEST(DecisionTest, WhatNeverFitsOutweighsAnyWait) {
  std::array uses{Said(Outcome::kDenied, 0, Micros{1000}), Said(Outcome::kNeverFits, 0, kMaxWait)};
  EXPECT_EQ(DecisionOf(StoreCall{.uses = uses, .allowed = false}).tightest.outcome,
            Outcome::kNeverFits);
}

TEST(DecisionTest, OfAPassTheLimitWithRoomForTheFewestCallsIsTightest) {
  std::array uses{Said(Outcome::kAllowed, 50, Micros{0}), Said(Outcome::kAllowed, 90, Micros{0})};
  uses[1].cost = 10;
  EXPECT_EQ(DecisionOf(StoreCall{.uses = uses, .allowed = true}).index, 1);
}

TEST(DecisionTest, OfEquallyTightLimitsTheSlowestToResetIsChosen) {
  std::array uses{Said(Outcome::kAllowed, 5, Micros{0}, Micros{10}),
                  Said(Outcome::kAllowed, 5, Micros{0}, Micros{20})};
  EXPECT_EQ(DecisionOf(StoreCall{.uses = uses, .allowed = true}).index, 1);
}

TEST(DecisionTest, ShadowLimitsAreNotReported) {
  std::array uses{Said(Outcome::kDenied, 0, Micros{99}), Said(Outcome::kAllowed, 5, Micros{0})};
  uses[0].mode = Mode::kShadow;
  const Decision decision = DecisionOf(StoreCall{.uses = uses, .allowed = true});
  EXPECT_EQ(decision.index, 1);
  EXPECT_EQ(decision.tightest.outcome, Outcome::kAllowed);
}

TEST(DecisionTest, ACallThatMetNoLimitPasses) {
  EXPECT_TRUE(DecisionOf(StoreCall{.allowed = true}).allowed);
}

}  // namespace
}  // namespace sluice::limiter
