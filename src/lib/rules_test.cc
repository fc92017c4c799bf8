#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sluice/limiter.h>
#include <sluice/rules.h>

#include "base/clock.h"
#include "base/fake_clock.h"

namespace sluice {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kLlm = R"(
rules:
  - id: llm
    per: [user, model]
    limits:
      - { type: requests, limit: 3/min }
      - { type: tokens, limit: 1000/min }
)";

class RulesTest : public ::testing::Test {
 protected:
  Result<RuleDecision> Check(const Rules& rules, std::initializer_list<Attribute> attributes,
                             std::int64_t cost = 1) {
    return limiter_.Check(rules, attributes, cost, &statuses_);
  }

  FakeClock clock_{WallTime{seconds(1'900'000'000)}};
  Limiter limiter_ = *Limiter::InMemory({.max_keys = 10'000, .clock = &clock_});
  std::vector<RuleStatus> statuses_;
};

TEST_F(RulesTest, RequestsAndTokensAreOneDecision) {
  const Rules rules = *Rules::FromText(kLlm);
  const auto first = Check(rules, {{"user", "alice"}, {"model", "big"}, {"tokens", "400"}});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->ruling, Ruling::kDecided);
  EXPECT_TRUE(first->allowed);
  EXPECT_EQ(first->rule, "llm");
  ASSERT_EQ(statuses_.size(), 2U);
  EXPECT_EQ(statuses_[0].verdict.remaining, 2);
  EXPECT_EQ(statuses_[1].verdict.remaining, 600);

  const auto denied = Check(rules, {{"user", "alice"}, {"model", "big"}, {"tokens", "700"}});
  EXPECT_FALSE(denied->allowed);
  EXPECT_EQ(denied->limit, "tokens_per_60s");
  EXPECT_EQ(statuses_[0].verdict.remaining, 2) << "a denial takes from none";
  EXPECT_TRUE(Check(rules, {{"user", "alice"}, {"model", "small"}, {"tokens", "700"}})->allowed);
}

// The clock starts at 2030-03-17T17:46:40Z.
TEST_F(RulesTest, ARuleBeginsAndEndsByItself) {
  const Rules rules = *Rules::FromText(
      "rules: [{ id: sale, limit: 1/h, starts_at: 2030-03-17T17:46:50Z,"
      " expires_at: 2030-03-17T17:47:00Z }]");
  EXPECT_EQ(Check(rules, {{"api_key", "a"}})->ruling, Ruling::kNoRule);
  clock_.Advance(seconds(10));
  EXPECT_TRUE(Check(rules, {{"api_key", "a"}})->allowed);
  EXPECT_FALSE(Check(rules, {{"api_key", "a"}})->allowed);
  clock_.Advance(seconds(10));
  EXPECT_EQ(Check(rules, {{"api_key", "a"}})->ruling, Ruling::kNoRule);
}

TEST_F(RulesTest, ARolloutGivesNewNumbersToAShareOfTheCallers) {
  // Of this rule, sk_1 is at 32.29 % and sk_2 at 40.68 %.
  const Rules rules =
      *Rules::FromText("rules: [{ id: api, limit: 9/h, rollout: { percent: 35, from: 4/h } }]");
  EXPECT_TRUE(Check(rules, {{"api_key", "sk_1"}})->allowed);
  EXPECT_EQ(statuses_[0].verdict.remaining, 8);
  EXPECT_TRUE(Check(rules, {{"api_key", "sk_2"}})->allowed);
  EXPECT_EQ(statuses_[0].verdict.remaining, 3);
}

TEST_F(RulesTest, OneLimitOfARuleMayBeInShadow) {
  const Rules rules = *Rules::FromText(
      "rules: [{ id: api, limits: { real: 9/h, trial: { limit: 1/h, shadow: true } } }]");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Check(rules, {{"api_key", "a"}})->allowed);
  ASSERT_EQ(statuses_.size(), 2U);
  EXPECT_FALSE(statuses_[0].is_shadow);
  EXPECT_TRUE(statuses_[1].is_shadow);
  EXPECT_EQ(statuses_[1].verdict.outcome, Outcome::kDenied);
}

TEST_F(RulesTest, ShadowRulesAreNotReportedToCallers) {
  const Rules rules = *Rules::FromText("rules: [{ id: quiet, shadow: true, limit: 1/h }]");
  const auto decision = Check(rules, {{"api_key", "a"}});
  EXPECT_TRUE(decision->allowed);
  EXPECT_EQ(decision->rule, "");
  EXPECT_TRUE(statuses_[0].is_shadow);
}

TEST_F(RulesTest, ActualUsageIsSettledAfterwards) {
  const Rules rules = *Rules::FromText(kLlm);
  ASSERT_TRUE(Check(rules, {{"user", "alice"}, {"model", "big"}, {"tokens", "400"}})->allowed);
  const std::vector<RuleStatus> taken = statuses_;
  EXPECT_EQ(limiter_.Settle(taken[1], 150)->remaining, 850);
  EXPECT_EQ(limiter_.Refund(taken[0])->remaining, 3);
}

TEST_F(RulesTest, SlotsAreReleasedByTheirStatus) {
  const Rules rules = *Rules::FromText("rules: [{ id: jobs, algorithm: concurrency, limit: 1 }]");
  ASSERT_TRUE(Check(rules, {{"api_key", "a"}})->allowed);
  const RuleStatus taken = statuses_[0];
  EXPECT_FALSE(Check(rules, {{"api_key", "a"}})->allowed);
  EXPECT_TRUE(limiter_.Renew(taken));
  EXPECT_TRUE(limiter_.Release(taken));
  EXPECT_FALSE(limiter_.Release(taken));
  EXPECT_TRUE(Check(rules, {{"api_key", "a"}})->allowed);
}

TEST_F(RulesTest, AResetClearsEveryMatchedLimit) {
  const Rules rules = *Rules::FromText(kLlm);
  const std::vector<Attribute> alice{{"user", "alice"}, {"model", "big"}, {"tokens", "400"}};
  ASSERT_TRUE(limiter_.Check(rules, alice)->allowed);
  EXPECT_EQ(limiter_.Reset(rules, alice), 2U);
  EXPECT_EQ(limiter_.Reset(rules, alice), 0U);
}

TEST_F(RulesTest, AnInvalidCostIsAnError) {
  const Rules rules = *Rules::FromText(kLlm);
  const auto refused = Check(rules, {{"user", "alice"}, {"model", "big"}, {"tokens", "many"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidCost);
  EXPECT_TRUE(statuses_.empty());
}

TEST_F(RulesTest, AllErrorsAreReported) {
  const auto rules =
      Rules::FromText("rules: [{ id: a, limt: 3/min }, { id: b, limit: x }]", "my.yaml");
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(rules.error().code, ErrorCode::kInvalidRules);
  EXPECT_THAT(rules.error().message, AllOf(HasSubstr("my.yaml:1:"), HasSubstr("limt"),
                                           HasSubstr("did you mean"), HasSubstr("rules[1]")));
}

TEST_F(RulesTest, ReplacedRulesKeepTheStateOfKeys) {
  Rules rules = *Rules::FromText("rules: [{ id: api, limit: 10/h }]");
  ASSERT_TRUE(Check(rules, {{"api_key", "a"}}, 4)->allowed);
  EXPECT_EQ(rules.Info().version, 1U);
  ASSERT_EQ(*rules.Replace("rules: [{ id: api, limit: 20/h }]"), 2U);
  ASSERT_TRUE(Check(rules, {{"api_key", "a"}}, 0)->allowed);
  EXPECT_EQ(statuses_[0].verdict.remaining, 6);
  EXPECT_FALSE(rules.Replace("rules: 3").ok());
  EXPECT_TRUE(rules.Info().failing);
  EXPECT_EQ(rules.Info().version, 2U) << "the old rules stay";
  ASSERT_EQ(*rules.Rollback(1), 3U);
  EXPECT_EQ(Check(rules, {{"api_key", "a"}}, 0)->tightest.limit, 10);
  EXPECT_EQ(rules.Rollback(77).error().code, ErrorCode::kInvalidRules);
}

TEST_F(RulesTest, AFileIsWatched) {
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-rules-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/rules.yaml";
  std::ofstream(path) << "rules: [{ id: api, limit: 10/h }]\n";
  const Rules rules = *Rules::FromFile(path);
  std::ofstream(path) << "rules: [{ id: api, limit: 10/h }, { id: more, limit: 20/h }]\n";
  const auto give_up = SteadyClock::Now() + seconds(20);
  while (rules.Info().rules != 2 && SteadyClock::Now() < give_up) {
    std::this_thread::yield();
  }
  EXPECT_EQ(rules.Info().rules, 2U);
  std::filesystem::remove_all(folder);
}

TEST_F(RulesTest, AMissingFileIsReportedByName) {
  const auto rules = Rules::FromFile("/nowhere/rules.yaml");
  ASSERT_FALSE(rules.ok());
  EXPECT_THAT(rules.error().message, HasSubstr("/nowhere/rules.yaml"));
}

TEST_F(RulesTest, RulesChangeUnderManyThreadsAndNoCheckIsLost) {
  constexpr int kThreads = 4;
  constexpr int kChecks = 20'000;
  Rules rules = *Rules::FromText("rules: [{ id: api, per: [], limit: 50000/day }]");
  std::atomic<int> allowed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kChecks; ++i) {
        const auto decision = limiter_.Check(rules, {{"api_key", "a"}});
        ASSERT_TRUE(decision.ok());
        ASSERT_EQ(decision->rule, "api");
        if (decision->allowed) ++allowed;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(rules.Replace("rules: [{ id: api, version: " + std::to_string(i + 1) +
                              ", per: [], limit: 50000/day }]"));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, 50'000);
}

// ---- Calls that name what they use.

constexpr std::string_view kQuantities = R"(
models: { gpt-5: { input: 1.25, cached: 0.125, output: 10 } }
rules:
  - id: llm
    algorithm: fixed_window
    limits:
      weighted: { limit: 1000, anchor: year, count: { input_tokens: 1, cached_tokens: 0.1, output_tokens: 6 } }
      money: 1 USD per year
      parallel: { algorithm: concurrency, limit: 1 }
)";

class ReservationTest : public ::testing::Test {
 protected:
  Result<RuleDecision> Reserve(Reservation& reservation, std::int64_t output) {
    const Attribute attributes[] = {{"api_key", "a"}, {"model", "gpt-5"}};
    const UsedQuantity use[] = {
        {"input_tokens", 10}, {"cached_tokens", 5}, {"output_tokens", output}};
    return limiter_.Reserve(rules_, attributes, use, reservation);
  }

  Rules rules_ = Rules::FromText(kQuantities).value();
  FakeClock clock_{WallTime{std::chrono::seconds(1'900'000'000)}};
  Limiter limiter_ = Limiter::InMemory({.clock = &clock_}).value();
};

TEST_F(ReservationTest, IsSettledByQuantityOnce) {
  Reservation reservation;
  ASSERT_TRUE(Reserve(reservation, 100)->allowed);
  ASSERT_FALSE(reservation.empty());
  Reservation other;
  EXPECT_FALSE(Reserve(other, 1)->allowed) << "one call in flight";
  EXPECT_TRUE(other.empty());
  const UsedQuantity used[] = {{"output_tokens", 20}};
  const auto settled = limiter_.Settle(reservation, used);
  ASSERT_TRUE(settled) << settled.error().message;
  ASSERT_EQ(settled->limits.size(), 2U);
  EXPECT_EQ(settled->limits[0].name, "weighted");
  EXPECT_EQ(settled->limits[0].verdict.remaining, 869) << "10 + 0.5 + 120 are used";
  EXPECT_EQ(settled->limits[1].charged, 10 * 1250 + 5 * 125 + 20 * 10'000);
  EXPECT_TRUE(reservation.empty());
  EXPECT_TRUE(limiter_.Cancel(reservation)->limits.empty());
  EXPECT_TRUE(Reserve(other, 1)->allowed) << "the slot was released";
}

TEST_F(ReservationTest, IsExtendedAndStopped) {
  Reservation reservation;
  ASSERT_TRUE(Reserve(reservation, 100)->allowed);
  for (int i = 0; i < 200; ++i) {
    clock_.Advance(std::chrono::seconds(50));
    ASSERT_EQ(*limiter_.Extend(reservation), 1U);
  }
  const UsedQuantity some[] = {{"output_tokens", 120}};
  EXPECT_FALSE(limiter_.SettlePartially(reservation, some)->stop);
  const UsedQuantity all[] = {{"output_tokens", 170}};
  EXPECT_TRUE(limiter_.SettlePartially(reservation, all)->stop);
  EXPECT_TRUE(limiter_.Cancel(reservation));
  ASSERT_TRUE(Reserve(reservation, 0)->allowed);
}

TEST_F(ReservationTest, ErrorsNameTheQuantity) {
  Reservation reservation;
  const Attribute attributes[] = {{"api_key", "a"}, {"model", "gpt-6"}};
  const UsedQuantity few[] = {{"input_tokens", 1}};
  const auto missing = limiter_.Reserve(rules_, attributes, few, reservation);
  EXPECT_EQ(missing.error().code, ErrorCode::kMissingQuantity);
  EXPECT_NE(missing.error().message.find("cached_tokens"), std::string::npos);
  const UsedQuantity typo[] = {{"input_token", 1}};
  EXPECT_EQ(limiter_.Reserve(rules_, attributes, typo, reservation).error().code,
            ErrorCode::kUnknownQuantity);
  const UsedQuantity all[] = {{"input_tokens", 1}, {"cached_tokens", 0}, {"output_tokens", 1}};
  EXPECT_EQ(limiter_.Reserve(rules_, attributes, all, reservation).error().code,
            ErrorCode::kNoPrice);
  const UsedQuantity negative[] = {{"input_tokens", -1}};
  EXPECT_EQ(limiter_.Reserve(rules_, attributes, negative, reservation).error().code,
            ErrorCode::kInvalidCost);
}

}  // namespace
}  // namespace sluice
