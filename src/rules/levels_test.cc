// Which level's numbers win: built-in < defaults < tiers < rule < override.

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/testing/read.h"

namespace sluice::rules {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::Complaints;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ReadOk;
using ::testing::SizeIs;
using testing::Words;

/// The only limit of the only rule, in words.
std::string OnlyLimit(const std::string& yaml) {
  const RuleFile file = ReadOk(yaml);
  if (file.rules.size() != 1 || file.rules[0].variants.usual.size() != 1) return "not one limit";
  return Words(file.rules[0].variants.usual[0].limit);
}

std::string LimitOf(const std::string& fields) {
  return OnlyLimit("rules: [{id: a, " + fields + "}]");
}

std::vector<std::string> NamesOf(const Limits& limits) {
  std::vector<std::string> names;
  for (const NamedLimit& limit : limits) names.push_back(limit.name);
  return names;
}

TEST(LevelsTest, LimitsAreWrittenInManyWays) {
  const std::string hundred_a_minute = "token_bucket 100, 1/600000 per 1 µs";
  EXPECT_EQ(LimitOf("limit: 100 per minute"), hundred_a_minute);
  EXPECT_EQ(LimitOf("limit: 100, window: 60"), hundred_a_minute);
  EXPECT_EQ(LimitOf("limit: 100, window: 1m"), hundred_a_minute);
  EXPECT_EQ(LimitOf("params: {limit: 100/m}"), hundred_a_minute);
  EXPECT_EQ(LimitOf("limits: [100/m]"), hundred_a_minute);
  EXPECT_EQ(LimitOf("limits: {rpm: 100/m}"), hundred_a_minute);
  EXPECT_EQ(LimitOf("limit: [100/m]"), hundred_a_minute);
  EXPECT_EQ(LimitOf("capacity: 100, refill_rate: 100 per minute"), hundred_a_minute);
  EXPECT_EQ(LimitOf("limit: 30/s"), "token_bucket 30, 3/100000 per 1 µs");
}

TEST(LevelsTest, EveryAlgorithmHasItsNumbers) {
  EXPECT_EQ(LimitOf("algorithm: leaky_bucket, capacity: 5, leak_rate: 2"),
            "leaky_bucket 5, 1/500000 per 1 µs");
  EXPECT_EQ(LimitOf("algorithm: leaky_bucket, limit: 5/s"), "leaky_bucket 5, 1/200000 per 1 µs");
  EXPECT_EQ(LimitOf("algorithm: Fixed_Window, limit: 5, window: 1h"),
            "fixed_window 5, 3600000000 µs");
  EXPECT_EQ(LimitOf("algorithm: fixed_window, limit: 5, anchor: month"), "fixed_window 5");
  EXPECT_EQ(LimitOf("algorithm: sliding_window, limit: 5/s"), "sliding_window_log 5, 1000000 µs");
  EXPECT_EQ(LimitOf("algorithm: sliding_window_log, limit: 5/s"),
            "sliding_window_log 5, 1000000 µs");
  EXPECT_EQ(LimitOf("algorithm: sliding_window_counter, limit: 5/s"),
            "sliding_window_counter 5, 1000000 µs");
  EXPECT_EQ(LimitOf("algorithm: concurrency, limit: 5"), "concurrency 5, 60000000 µs");
  EXPECT_EQ(LimitOf("algorithm: concurrency, limit: 5, ttl: 5s"), "concurrency 5, 5000000 µs");
}

TEST(LevelsTest, BucketsHaveBurstsAndSteps) {
  EXPECT_EQ(LimitOf("capacity: 100, refill_rate: 1, burst_multiplier: 1.15, burst_allowance: 7"),
            "token_bucket 122, 1/1000000 per 1 µs");
  EXPECT_EQ(LimitOf("capacity: 100, refill_rate: 2.5, refill_interval: 500"),
            "token_bucket 100, 5/2 per 500000 µs");
  EXPECT_EQ(LimitOf("capacity: 100, refill_rate: 60/m, refill_interval: 2s"),
            "token_bucket 100, 2/1 per 2000000 µs");
  EXPECT_EQ(LimitOf("algorithm: leaky_bucket, capacity: 9, refill_rate: 1, refill_interval: 500"),
            "leaky_bucket 9, 1/500000 per 1 µs");
}

TEST(LevelsTest, AStrongerLevelWinsFieldByField) {
  const RuleFile file = ReadOk(R"(
defaults: { capacity: 10, refill_rate: 1, window: 60 }
tiers:
  pro: { capacity: 100 }
rules:
  - { id: a, burst_allowance: 5, override: { vip: { refill_rate: 2 } } }
)");
  const Rule& rule = file.rules.at(0);
  EXPECT_EQ(Words(rule.variants.usual[0].limit), "token_bucket 15, 1/1000000 per 1 µs");
  EXPECT_EQ(Words(rule.variants.by_tier.at("pro")[0].limit),
            "token_bucket 105, 1/1000000 per 1 µs");
  EXPECT_EQ(Words(rule.overrides[0].variants.usual[0].limit), "token_bucket 15, 1/500000 per 1 µs");
  EXPECT_EQ(Words(rule.overrides[0].variants.by_tier.at("pro")[0].limit),
            "token_bucket 105, 1/500000 per 1 µs");
}

TEST(LevelsTest, ARuleIsStrongerThanATier) {
  const RuleFile file = ReadOk(
      "tiers: {pro: {capacity: 100}}\n"
      "rules: [{id: a, capacity: 1, refill_rate: 1}]");
  EXPECT_THAT(file.rules.at(0).variants.by_tier, IsEmpty());
}

TEST(LevelsTest, ARulesOwnTierIsItsOnlyOne) {
  const RuleFile file = ReadOk("tiers: {pro: 100/s, free: 1/s}\nrules: [{id: a, tier: pro}]");
  EXPECT_EQ(file.rules.at(0).variants.usual.at(0).limit.cap(), 100);
  EXPECT_THAT(file.rules[0].variants.by_tier, IsEmpty());
}

TEST(LevelsTest, WithNumbersOnlyFromTiersTheRuleAppliesToThoseTiers) {
  const RuleFile file = ReadOk("tiers: {pro: 100/s, other: }\nrules: [{id: a, window: 5}]");
  EXPECT_THAT(file.rules.at(0).variants.usual, IsEmpty());
  ASSERT_THAT(file.rules[0].variants.by_tier, SizeIs(1));
  EXPECT_EQ(file.rules[0].variants.by_tier.begin()->first, "pro");
}

TEST(LevelsTest, ALimitReplacesCapacityAndRefillRateAndBack) {
  EXPECT_EQ(OnlyLimit("defaults: {capacity: 10, refill_rate: 1, refill_interval: 500}\n"
                      "rules: [{id: a, limit: 5/s}]"),
            "token_bucket 5, 1/200000 per 1 µs");
  EXPECT_EQ(OnlyLimit("defaults: {limit: 5/s}\nrules: [{id: a, capacity: 10, refill_rate: 1}]"),
            "token_bucket 10, 1/1000000 per 1 µs");
  EXPECT_EQ(OnlyLimit("defaults: {limit: 5/s}\nrules: [{id: a, limit: 10}]"),
            "token_bucket 10, 1/100000 per 1 µs");
  EXPECT_EQ(Complaints("defaults: {limit: 5/s}\nrules: [{id: a, capacity: 10}]"),
            "2:9: rules[0]: token_bucket needs a `refill_rate` beside its `capacity`\n");
}

TEST(LevelsTest, ACalendarWindowReplacesAWindowAndBack) {
  EXPECT_EQ(OnlyLimit("defaults: {algorithm: fixed_window, window: 60}\n"
                      "rules: [{id: a, limit: 5, anchor: day}]"),
            "fixed_window 5");
  EXPECT_EQ(OnlyLimit("defaults: {algorithm: fixed_window, anchor: day}\n"
                      "rules: [{id: a, limit: 5, window: 60}]"),
            "fixed_window 5, 60000000 µs");
  EXPECT_EQ(OnlyLimit("defaults: {algorithm: fixed_window, anchor: first_hit}\n"
                      "rules: [{id: a, limit: 5, window: 60}]"),
            "fixed_window 5, 60000000 µs");
}

TEST(LevelsTest, UnusedNumbersOfWeakerLevelsAreDropped) {
  EXPECT_EQ(OnlyLimit("defaults: {capacity: 10, refill_rate: 1, ttl: 5s, window: 9}\n"
                      "rules: [{id: a, algorithm: concurrency, limit: 3}]"),
            "concurrency 3, 5000000 µs");
  EXPECT_EQ(OnlyLimit("defaults: {ttl: 5s, limit: 3/s}\nrules: [{id: a}]"),
            "token_bucket 3, 3/1000000 per 1 µs");
  const RuleFile file = ReadOk(R"(
rules: [{ id: a, capacity: 10, refill_rate: 1, override: { vip: { algorithm: concurrency, limit: 3 } } }]
)");
  EXPECT_EQ(Words(file.rules.at(0).overrides.at(0).variants.usual.at(0).limit),
            "concurrency 3, 60000000 µs");
}

TEST(LevelsTest, EveryNumberKnowsItsLevel) {
  const RuleFile file = ReadOk(
      "defaults: {refill_rate: 1.5}\ntiers: {pro: {burst_allowance: 2}}\n"
      "rules: [{id: a, tier: pro, capacity: 7, override: {vip: {capacity: 9}}}]");
  std::vector<std::string> found;
  for (const Setting& s : file.rules.at(0).overrides.at(0).variants.usual.at(0).settings) {
    found.push_back(s.field + "=" + s.value + " level " +
                    std::to_string(static_cast<int>(s.level)) + " line " +
                    std::to_string(s.position.line));
  }
  EXPECT_THAT(found, ElementsAre("capacity=9 level 4 line 3", "refill_rate=1.5 level 1 line 1",
                                 "burst_allowance=2 level 2 line 2"));
}

TEST(LevelsTest, TheWindowOfARateIsNotASeparateSetting) {
  const RuleFile file = ReadOk("rules: [{id: a, limit: 5 per minute}]");
  EXPECT_THAT(file.rules.at(0).variants.usual.at(0).settings, SizeIs(1));
}

TEST(LevelsTest, SeveralLimitsAreNamedByWhatTheyCountAndTheirWindow) {
  const RuleFile file = ReadOk(R"(
rules:
  - id: a
    algorithm: sliding_window_counter
    limits:
      - 10/s
      - 1000 per hour
      - { type: tokens, limit: 5000, window: 60, max_cost: 4096 }
      - { algorithm: fixed_window, limit: 9, anchor: month }
      - { algorithm: concurrency, limit: 3 }
      - { name: mine, limit: 10/s }
)");
  const Limits& limits = file.rules.at(0).variants.usual;
  EXPECT_THAT(NamesOf(limits),
              ElementsAre("requests_per_1s", "requests_per_3600s", "tokens_per_60s",
                          "requests_per_month", "requests_in_flight", "mine"));
  EXPECT_EQ(Words(limits[1].limit), "sliding_window_counter 1000, 3600000000 µs");
  EXPECT_EQ(limits[1].window, hours(1));
  EXPECT_EQ(limits[2].type, "tokens");
  EXPECT_EQ(limits[2].cost.attribute, "tokens");
  EXPECT_EQ(limits[2].cost.max_cost, 4096);
}

TEST(LevelsTest, LevelsMayNameTheLimitThatTheyMean) {
  const RuleFile file = ReadOk(R"(
tiers:
  free: { limits: { rpm: 10/m, tpm: 1000/m } }
  pro: { limits: { rpm: 100/m, tpm: { limit: 9000, window: 60 } } }
rules:
  - id: llm
    limits: { rpm: {}, tpm: { type: tokens } }
    override:
      vip: { limits: { tpm: 50000/m } }
)");
  const Rule& rule = file.rules.at(0);
  EXPECT_THAT(rule.variants.usual, IsEmpty());
  EXPECT_EQ(rule.variants.by_tier.at("free")[1].limit.cap(), 1000);
  EXPECT_EQ(rule.variants.by_tier.at("pro")[1].limit.cap(), 9000);
  EXPECT_EQ(rule.overrides[0].variants.by_tier.at("pro")[0].limit.cap(), 100);
  EXPECT_EQ(rule.overrides[0].variants.by_tier.at("pro")[1].limit.cap(), 50000);
}

TEST(LevelsTest, CostsAreConstantOrTakenFromAnAttribute) {
  const auto cost = [](const std::string& fields) {
    return ReadOk("rules: [{id: a, limit: 100/s, " + fields + "}]")
        .rules.at(0)
        .variants.usual.at(0)
        .cost;
  };
  EXPECT_EQ(cost("version: 1").attribute, "");
  EXPECT_EQ(cost("cost: 5").constant, 5);
  EXPECT_EQ(cost("type: tokens").attribute, "tokens");
  EXPECT_EQ(cost("type: tokens, cost: 2").attribute, "");
  const Cost bounded = cost("cost: {attribute: bytes, min: 10, max: 4096}");
  EXPECT_EQ(bounded.attribute, "bytes");
  EXPECT_EQ(bounded.least, 10);
  EXPECT_EQ(bounded.max_cost, 4096);
  EXPECT_EQ(cost("max_cost: 7").max_cost, 7);
}

TEST(LevelsTest, ARuleMayRejectEverything) {
  const RuleFile file = ReadOk(R"(
tiers: { banned: { reject_all: true } }
rules:
  - { id: closed, reject_all: true, override: { vip: 5/s } }
  - { id: zero, limit: 0, reject_all: true }
  - { id: some, limit: 10/s, override: { bad: { reject_all: true } } }
  - { id: tier, tier: banned }
)");
  EXPECT_TRUE(file.rules.at(0).variants.usual.at(0).reject_all);
  EXPECT_FALSE(file.rules[0].overrides.at(0).variants.usual.at(0).reject_all);
  EXPECT_EQ(file.rules[0].overrides[0].variants.usual[0].limit.cap(), 5);
  EXPECT_TRUE(file.rules[1].variants.usual.at(0).reject_all);
  EXPECT_FALSE(file.rules[2].variants.usual.at(0).reject_all);
  EXPECT_TRUE(file.rules[2].overrides.at(0).variants.usual.at(0).reject_all);
  EXPECT_TRUE(file.rules[3].variants.usual.at(0).reject_all);
}

}  // namespace
}  // namespace sluice::rules
