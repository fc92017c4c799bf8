#include "simulate/simulation.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "match/load_rules.h"
#include "rules/reader.h"
#include "simulate/comparison.h"

namespace sluice::simulate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr WallTime kStart{seconds(1'800'000'000)};

std::shared_ptr<const match::RuleSet> Compiled(const std::string& yaml) {
  rules::ReadResult read = rules::Read("rules.yaml", yaml);
  for (const config_text::Diagnostic& error : read.errors)
    ADD_FAILURE() << config_text::Describe(error);
  return match::RuleSet::Compile(std::move(*read.file));
}

class SimulationTest : public ::testing::Test {
 protected:
  void Use(const std::string& yaml, const SimulationOptions& options = {}) {
    auto simulation = Simulation::Create(Compiled(yaml), options);
    ASSERT_TRUE(simulation) << simulation.error().message;
    simulation_ = std::move(*simulation);
  }

  // A call after so long since the start.
  SimulatedDecision Call(Micros at, std::vector<Attribute> attributes, std::int64_t cost = 1,
                         std::optional<Micros> duration = std::nullopt) {
    const TraceRow row{.time = kStart + at,
                       .cost = cost,
                       .duration = duration,
                       .attributes = std::move(attributes)};
    return simulation_->Evaluate(row, row.time);
  }

  [[nodiscard]] const SimulationTally& tally() const { return simulation_->tally(); }
  [[nodiscard]] const RuleTally& Rule(std::size_t i) const { return tally().rules.at(i); }

  std::unique_ptr<Simulation> simulation_;
};

TEST_F(SimulationTest, RulesBeginAndEndInTheTimeOfTheTrace) {
  // The trace starts at 2027-01-15T08:00:00Z.
  Use("rules:\n  - {id: a, per: [user], limit: 1/h, starts_at: 2027-01-15T08:00:10Z,"
      " expires_at: 2027-01-15T08:00:20Z}\n");
  EXPECT_EQ(Call(seconds(9), {{"user", "u"}}).reason, Reason::kNoRule);
  EXPECT_TRUE(Call(seconds(10), {{"user", "u"}}).allowed);
  EXPECT_FALSE(Call(seconds(19), {{"user", "u"}}).allowed);
  EXPECT_EQ(Call(seconds(20), {{"user", "u"}}).reason, Reason::kNoRule);
  EXPECT_EQ(Rule(0).matched, 2U);
}

TEST_F(SimulationTest, LimitsOfARolloutAreCountedByCohort) {
  Use("rules:\n  - {id: api, per: [api_key], limit: 2/h, rollout: {percent: 35, from: 1/h}}\n");
  // sk_1 is in the rollout, and sk_2 is not.
  for (const char* key : {"sk_1", "sk_2"}) {
    for (int i = 0; i < 3; ++i) Call(seconds(i), {{"api_key", key}});
  }
  ASSERT_EQ(Rule(0).limits.size(), 2U);
  EXPECT_EQ(Rule(0).limits[0].cohort, match::Cohort::kNew);
  EXPECT_EQ(Rule(0).limits[0].matched, 3U);
  EXPECT_EQ(Rule(0).limits[0].denied, 1U);
  EXPECT_EQ(Rule(0).limits[1].cohort, match::Cohort::kOld);
  EXPECT_EQ(Rule(0).limits[1].matched, 3U);
  EXPECT_EQ(Rule(0).limits[1].denied, 2U);
}

TEST_F(SimulationTest, AShadowLimitBesideAnEnforcedOneNeverDenies) {
  Use("rules:\n  - {id: api, limits: {real: 2/h, trial: {limit: 1/h, shadow: true}}}\n");
  EXPECT_TRUE(Call(seconds(0), {{"api_key", "k"}}).allowed);
  EXPECT_TRUE(Call(seconds(1), {{"api_key", "k"}}).allowed);
  EXPECT_EQ(Rule(0).denied, 0U);
  EXPECT_EQ(Rule(0).limits[1].denied, 1U);
  const SimulatedDecision denied = Call(seconds(2), {{"api_key", "k"}});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.limit->name, "real");
  EXPECT_EQ(Rule(0).denied, 1U);
}

TEST_F(SimulationTest, CallsAreEvaluatedInTheTimeOfTheTrace) {
  Use("rules:\n  - {id: a, per: [user], algorithm: fixed_window, limit: 2, window: 10}\n");
  EXPECT_TRUE(Call(seconds(0), {{"user", "u"}}).allowed);
  EXPECT_TRUE(Call(seconds(1), {{"user", "u"}}).allowed);
  const SimulatedDecision denied = Call(seconds(9), {{"user", "u"}});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(DeniedBy(denied), "a (requests)");
  EXPECT_TRUE(Call(seconds(10), {{"user", "u"}}).allowed);
  EXPECT_EQ(tally().calls, 4U);
  EXPECT_EQ(tally().allowed, 3U);
  EXPECT_EQ(Rule(0).matched, 4U);
  EXPECT_EQ(Rule(0).denied, 1U);
  EXPECT_THAT(Rule(0).denied_keys, ElementsAre(Pair("user=u", 1)));
}

TEST_F(SimulationTest, ACallThatOneLimitDeniesTakesFromNone) {
  Use("rules:\n"
      "  - {id: all, per: [], algorithm: fixed_window, limit: 3, window: 10}\n"
      "  - {id: user, per: [user], algorithm: fixed_window, limit: 1, window: 10}\n");
  EXPECT_TRUE(Call(seconds(0), {{"user", "u"}}).allowed);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Call(seconds(1), {{"user", "u"}}).allowed);
  EXPECT_TRUE(Call(seconds(2), {{"user", "v"}}).allowed);
  EXPECT_TRUE(Call(seconds(2), {{"user", "w"}}).allowed);
  EXPECT_EQ(DeniedBy(Call(seconds(2), {{"user", "x"}})), "all (requests)");
  EXPECT_EQ(Rule(0).denied, 1U);
  EXPECT_EQ(Rule(1).denied, 5U);
  EXPECT_EQ(Rule(0).limits.at(0).taken, 3);
  EXPECT_THAT(Rule(0).denied_keys, ElementsAre(Pair("everyone", 1)));
}

TEST_F(SimulationTest, AShadowRuleIsEvaluatedButDeniesNothing) {
  Use("rules:\n  - {id: a, shadow: true, per: [user], limit: 1, window: 10}\n");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Call(seconds(0), {{"user", "u"}}).allowed);
  EXPECT_EQ(tally().allowed, 3U);
  EXPECT_EQ(Rule(0).denied, 2U);
  EXPECT_THAT(Rule(0).denied_keys, ElementsAre(Pair("user=u", 2)));
}

TEST_F(SimulationTest, ListsAndWhatNoRuleMeetsAreCounted) {
  Use("rules:\n  - {id: a, match: {user: u}, per: [user], limit: 1, window: 10}\n"
      "allow: [good_*]\ndeny: [bad_*]\ndefault: deny\n");
  EXPECT_TRUE(Call(seconds(0), {{"api_key", "good_1"}}).allowed);
  EXPECT_EQ(DeniedBy(Call(seconds(0), {{"api_key", "bad_1"}})), "the deny list");
  EXPECT_EQ(DeniedBy(Call(seconds(0), {{"api_key", "other"}})), "default: deny");
  EXPECT_EQ(tally().Of(Reason::kAllowList), 1U);
  EXPECT_EQ(tally().Of(Reason::kDenyList), 1U);
  EXPECT_EQ(tally().Of(Reason::kNoRule), 1U);
  EXPECT_EQ(tally().no_rule_denied, 1U);
  EXPECT_EQ(tally().denied(), 2U);
}

TEST_F(SimulationTest, CallsThatLackAnAttributeOfTheBudgetAreCounted) {
  Use("rules:\n  - {id: a, per: [user], limit: 1, window: 10}\n");
  EXPECT_TRUE(Call(seconds(0), {{"ip", "192.0.2.1"}}).allowed);
  EXPECT_EQ(Rule(0).lacking, 1U);
  EXPECT_EQ(Rule(0).matched, 0U);
}

TEST_F(SimulationTest, ACostThatMakesNoSenseIsARefusal) {
  Use("rules:\n  - {id: a, per: [user], type: tokens, limit: 100, window: 10, max_cost: 50}\n");
  EXPECT_TRUE(Call(seconds(0), {{"user", "u"}, {"tokens", "50"}}).allowed);
  EXPECT_EQ(DeniedBy(Call(seconds(0), {{"user", "u"}, {"tokens", "51"}})), "a (cost)");
  EXPECT_EQ(tally().Of(Reason::kCostRefused), 1U);
  EXPECT_EQ(Rule(0).cost_refused, 1U);
  EXPECT_EQ(Rule(0).limits.at(0).taken, 50);
}

TEST_F(SimulationTest, CostsThatCanNeverFitAreCountedSeparately) {
  Use("rules:\n  - {id: a, per: [user], limit: 10, window: 10}\n");
  EXPECT_FALSE(Call(seconds(0), {{"user", "u"}}, 11).allowed);
  EXPECT_EQ(Rule(0).limits.at(0).never_fits, 1U);
}

TEST_F(SimulationTest, ARuleThatRejectsAllDeniesAndOthersKeepWhatTheyHave) {
  Use("rules:\n"
      "  - {id: closed, match: {endpoint: /old}, per: [], limit: 0, window: 1, reject_all: true}\n"
      "  - {id: user, per: [user], algorithm: fixed_window, limit: 1, window: 10}\n");
  EXPECT_EQ(DeniedBy(Call(seconds(0), {{"user", "u"}, {"endpoint", "/old"}})), "closed (requests)");
  EXPECT_TRUE(Call(seconds(0), {{"user", "u"}, {"endpoint", "/new"}}).allowed);
  EXPECT_EQ(Rule(0).limits.at(0).never_fits, 1U);
  EXPECT_EQ(Rule(1).matched, 2U);
  EXPECT_EQ(Rule(1).denied, 0U);
}

TEST_F(SimulationTest, ASlotIsFreeWhenItsCallIsOver) {
  Use("rules:\n  - {id: a, per: [user], algorithm: concurrency, limit: 1, ttl: 60}\n");
  EXPECT_TRUE(Call(milliseconds(0), {{"user", "u"}}, 1, milliseconds(500)).allowed);
  EXPECT_FALSE(Call(milliseconds(499), {{"user", "u"}}, 1, milliseconds(500)).allowed);
  EXPECT_TRUE(Call(milliseconds(500), {{"user", "u"}}, 1).allowed);
  EXPECT_EQ(tally().unending_slots, 1U);
  EXPECT_FALSE(Call(seconds(60), {{"user", "u"}}).allowed);
  EXPECT_TRUE(Call(seconds(61), {{"user", "u"}}).allowed);
}

TEST_F(SimulationTest, KeysBeyondThoseRememberedAreCountedTogether) {
  Use("rules:\n  - {id: a, per: [user], limit: 1, window: 10}\n", {.max_denied_keys = 1});
  for (const char* user : {"u", "v", "u", "v", "u", "v"}) Call(seconds(0), {{"user", user}});
  EXPECT_THAT(Rule(0).denied_keys, ElementsAre(Pair("user=u", 2)));
  EXPECT_EQ(tally().keys_not_listed, 2U);
}

TEST_F(SimulationTest, KeysAreNamedByWhatTheyArePer) {
  Use("rules:\n"
      "  - {id: client, limit: 1, window: 10}\n"
      "  - {id: pair, per: [user, endpoint], limit: 1, window: 10}\n"
      "  - {id: tagged, per: [user, model], hash_tag: model, limit: 1, window: 10}\n");
  for (int i = 0; i < 2; ++i) {
    Call(seconds(0), {{"api_key", "k"}, {"user", "a b"}, {"endpoint", "/x:y"}, {"model", "m"}});
    Call(seconds(0), {{"ip", "192.0.2.1"}});
  }
  EXPECT_THAT(Rule(0).denied_keys,
              UnorderedElementsAre(Pair("api_key=k", 1), Pair("ip=192.0.2.1", 1)));
  EXPECT_THAT(Rule(1).denied_keys, ElementsAre(Pair("user=a b, endpoint=/x:y", 1)));
  EXPECT_THAT(Rule(2).denied_keys, ElementsAre(Pair("model=m, user=a b", 1)));
}

TEST_F(SimulationTest, LimitsThatWereNeverMetAreShownToo) {
  Use("rules:\n  - {id: a, per: [user], limits: [{limit: 10/s}, {limit: 1000/h}]}\n");
  ASSERT_EQ(Rule(0).limits.size(), 2U);
  EXPECT_EQ(Rule(0).limits[0].matched, 0U);
}

// What a process does: rules that change, and one store that does not.
TEST(LiveRulesTest, KeysKeepWhatTheyHaveLeftWhenNumbersChange) {
  auto store = store::MemoryStore::Create({.max_keys = 1000});
  ASSERT_TRUE(store);
  Live<match::RuleSet> live;
  LiveReader<match::RuleSet> reader(live);
  const auto load = [&](int capacity) {
    LoadRules(live, "rules.yaml",
              "rules:\n  - {id: a, per: [user], capacity: " + std::to_string(capacity) +
                  ", refill_rate: 1}\n",
              kStart);
  };
  const auto remaining = [&] {
    match::Match match;
    const std::vector<Attribute> attributes{{"user", "u"}};
    reader.Get()->Find(attributes, 1, WallTime{}, match);
    store::KeyUse use;
    use.key = match.limits()[0].key;
    use.limit = &match.limits()[0].limit->limit;
    store::StoreCall call;
    call.uses = {&use, 1};
    call.now = kStart;
    (*store)->Submit(call);
    return use.verdict.remaining;
  };
  load(10);
  EXPECT_EQ(remaining(), 9);
  EXPECT_EQ(remaining(), 8);
  load(100);
  EXPECT_EQ(remaining(), 7);
  load(5);
  EXPECT_EQ(remaining(), 4);
}

}  // namespace
}  // namespace sluice::simulate
