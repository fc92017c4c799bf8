#include "penalty/strike_batch.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/testing/model_store.h"

namespace sluice::penalty {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kBatchStart{seconds(1'900'000'000)};

class StrikeBatchTest : public ::testing::Test {
 protected:
  static CountedStrike StrikeOf(const std::string& caller, std::int64_t denials,
                                std::int64_t ignored = 0, std::uint64_t offenses = 0) {
    Strike strike;
    strike.offender.id = "penalty:" + caller;
    strike.penalty.denials = 20;
    strike.penalty.ignored_backoff = 5;
    strike.penalty.within = minutes(1);
    strike.denials = denials;
    strike.ignored_backoff = ignored;
    return {.strike = strike, .offenses = offenses};
  }
  /// The callers that offended.
  std::vector<std::string> Count(std::vector<CountedStrike> strikes, WallTime now = kBatchStart) {
    std::vector<std::string> offenders;
    std::make_shared<StrikeBatch>(std::move(strikes), [&](const StrikeOutcome& outcome) {
      EXPECT_EQ(outcome.failed, 0U);
      for (const Offense& offense : outcome.offenses) {
        offenders.push_back(offense.strike.offender.id.substr(8) +
                            (offense.kind == OffenseKind::kIgnoredBackoff ? " backoff" : ""));
      }
    })->Run(limiter_, now);
    return offenders;
  }

  store::testing::ModelStore store_;
  Live<match::RuleSet> rules_;
  LiveReader<match::RuleSet> reader_{rules_};
  limiter::Settings settings_;
  limiter::Limiter limiter_{store_, nullptr, reader_, settings_};
};

using Names = std::vector<std::string>;

TEST_F(StrikeBatchTest, TheThresholdIsPassedByTheSumOfAllBatches) {
  EXPECT_EQ(Count({StrikeOf("a", 19), StrikeOf("b", 1)}), Names{});
  EXPECT_EQ(Count({StrikeOf("a", 1), StrikeOf("b", 1)}), Names{"a"});
  EXPECT_EQ(Count({StrikeOf("b", 1000)}), Names{"b"});
  EXPECT_EQ(Count({StrikeOf("c", 1000)}), Names{"c"});
}

TEST_F(StrikeBatchTest, StrikesAreForgottenAfterTheirTime) {
  EXPECT_EQ(Count({StrikeOf("a", 19)}), Names{});
  EXPECT_EQ(Count({StrikeOf("a", 19)}, kBatchStart + minutes(2)), Names{});
}

TEST_F(StrikeBatchTest, StrikesBeforeAPenaltyDoNotCountAfterIt) {
  EXPECT_EQ(Count({StrikeOf("a", 20)}), Names{"a"});
  EXPECT_EQ(Count({StrikeOf("a", 19, 0, 1)}), Names{});
  EXPECT_EQ(Count({StrikeOf("a", 1, 0, 1)}), Names{"a"});
}

TEST_F(StrikeBatchTest, IgnoredBackoffHasItsOwnThresholdAndOneOffenseIsOne) {
  EXPECT_EQ(Count({StrikeOf("a", 6, 5)}), Names{"a backoff"});
  EXPECT_EQ(Count({StrikeOf("b", 20, 5)}), Names{"b"});
}

TEST_F(StrikeBatchTest, MoreCallersThanTheLimiterTakesAtOnce) {
  std::vector<CountedStrike> strikes;
  for (int i = 0; i < 100; ++i) strikes.push_back(StrikeOf(std::to_string(i), i % 2 == 0 ? 20 : 1));
  EXPECT_EQ(Count(std::move(strikes)).size(), 50U);
}

TEST_F(StrikeBatchTest, ResetCountersBeginAnew) {
  EXPECT_EQ(Count({StrikeOf("a", 19)}), Names{});
  for (const StrikeCounter& counter : CountersOf(StrikeOf("a", 0))) {
    limiter::CheckRequest reset;
    reset.Clear();
    reset.operation = store::Operation::kReset;
    reset.AddLimit(counter.key.view(), counter.limit, 0);
    limiter_.Decide(reset, kBatchStart);
  }
  EXPECT_EQ(Count({StrikeOf("a", 19)}), Names{});
}

}  // namespace
}  // namespace sluice::penalty
