#include "limiter/headline.h"

#include <array>

#include <gtest/gtest.h>

namespace sluice::limiter {
namespace {

using store::Call;
using store::Use;

Use Said(Outcome outcome, std::int64_t remaining, Micros retry, Micros reset = Micros{0}) {
  Use use;
  use.verdict = {.outcome = outcome,
                 .limit = 100,
                 .remaining = remaining,
                 .retry_after = retry,
                 .reset_after = reset};
  return use;
}

TEST(HeadlineTest, ADenialIsToldByTheLimitWithTheLongestWait) {
  std::array uses{Said(Outcome::kAllowed, 1, Micros{0}), Said(Outcome::kDenied, 0, Micros{5}),
                  Said(Outcome::kDenied, 0, Micros{9}), Said(Outcome::kDenied, 0, Micros{7})};
  const Decision decision = Headline(Call{.uses = uses, .allowed = false});
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.index, 2);
  EXPECT_EQ(decision.headline.retry_after, Micros{9});
}

TEST(HeadlineTest, WhatNeverFitsOutweighsAnyWait) {
  std::array uses{Said(Outcome::kDenied, 0, Micros{1000}), Said(Outcome::kNeverFits, 0, kMaxWait)};
  EXPECT_EQ(Headline(Call{.uses = uses, .allowed = false}).headline.outcome, Outcome::kNeverFits);
}

TEST(HeadlineTest, APassIsToldByTheLimitInWhichFewestSuchCallsFit) {
  std::array uses{Said(Outcome::kAllowed, 50, Micros{0}), Said(Outcome::kAllowed, 90, Micros{0})};
  uses[1].cost = 10;
  EXPECT_EQ(Headline(Call{.uses = uses, .allowed = true}).index, 1);
}

TEST(HeadlineTest, OfEquallyTightLimitsTheSlowestToResetIsTold) {
  std::array uses{Said(Outcome::kAllowed, 5, Micros{0}, Micros{10}),
                  Said(Outcome::kAllowed, 5, Micros{0}, Micros{20})};
  EXPECT_EQ(Headline(Call{.uses = uses, .allowed = true}).index, 1);
}

TEST(HeadlineTest, ShadowLimitsAreNotSpokenOf) {
  std::array uses{Said(Outcome::kDenied, 0, Micros{99}), Said(Outcome::kAllowed, 5, Micros{0})};
  uses[0].mode = Mode::kShadow;
  const Decision decision = Headline(Call{.uses = uses, .allowed = true});
  EXPECT_EQ(decision.index, 1);
  EXPECT_EQ(decision.headline.outcome, Outcome::kAllowed);
}

TEST(HeadlineTest, ACallThatMetNoLimitPasses) {
  EXPECT_TRUE(Headline(Call{.allowed = true}).allowed);
}

}  // namespace
}  // namespace sluice::limiter
