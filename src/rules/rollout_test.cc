// `rollout`: new numbers for a share of the callers, and `from`, the numbers of the others.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/timestamp.h"
#include "rules/rollout_text.h"
#include "rules/testing/read.h"

namespace sluice::rules {
namespace {

using testing::Complaints;
using testing::ReadOk;
using testing::Words;

const WallTime kNow = *ParseTimestamp("2026-11-15T12:00:00Z");

Rule OneRule(const std::string& fields) {
  return ReadOk("rules: [{id: a, " + fields + "}]").rules[0];
}

std::string Numbers(const LimitVariants& variants) {
  std::string text;
  const auto add = [&](const std::string& tier, const Limits& limits) {
    for (const NamedLimit& limit : limits) {
      text += tier + limit.name + ": " +
              (limit.is_absent    ? "absent"
               : limit.reject_all ? "rejects all"
                                  : Words(limit.limit)) +
              (limit.cost.max_cost ? ", max_cost " + std::to_string(*limit.cost.max_cost) : "") +
              "\n";
    }
  };
  add("", variants.usual);
  for (const auto& [tier, limits] : variants.by_tier) add(tier + " ", limits);
  return text;
}

TEST(RolloutTest, HasAShareOfHundredthsOfAPercent) {
  const std::vector<std::pair<std::string, std::uint32_t>> shares = {
      {"0", 0}, {"10", 1000}, {"12.5", 1250}, {"0.01", 1}, {"99.990", 9999}, {"100", 10'000}};
  for (const auto& [text, share] : shares) {
    const Rule rule = OneRule("limit: 10/s, rollout: {percent: " + text + "}");
    ASSERT_TRUE(rule.rollout) << text;
    EXPECT_EQ(rule.rollout->share, share) << text;
    EXPECT_FALSE(rule.rollout->has_from);
    EXPECT_EQ(rule.rollout->by, "");
  }
  for (const char* text : {"-1", "100.01", "0.001", "ten", "[10]", "10%", "1e30"}) {
    EXPECT_NE(
        Complaints(std::string("rules: [{id: a, limit: 1/s, rollout: {percent: ") + text + "}}]"),
        "")
        << text;
  }
}

TEST(RolloutTest, IsByAnAttributeOfPer) {
  EXPECT_EQ(OneRule("per: [tenant, model], limit: 1/s, rollout: {percent: 1}").rollout->by,
            "tenant");
  EXPECT_EQ(
      OneRule("per: [tenant, model], limit: 1/s, rollout: {percent: 1, by: model}").rollout->by,
      "model");
}

TEST(RolloutTest, FromReplacesTheRulesNumbers) {
  const Rule rule = OneRule(
      "algorithm: fixed_window, limit: 200/m, max_cost: 7, rollout: {percent: 10, from: 100/m}");
  EXPECT_EQ(Numbers(rule.variants), "requests: fixed_window 200, 60000000 µs, max_cost 7\n");
  EXPECT_EQ(Numbers(rule.rollout->from), "requests: fixed_window 100, 60000000 µs, max_cost 7\n");
}

TEST(RolloutTest, LimitsOnlyInTheNewNumbersAreAbsentInFrom) {
  const Rule rule =
      OneRule("limit: 100/s, burst_allowance: 50, rollout: {percent: 10, from: 100/s}");
  EXPECT_EQ(rule.variants.usual[0].limit.cap(), 150);
  EXPECT_EQ(rule.rollout->from.usual[0].limit.cap(), 100);
}

TEST(RolloutTest, LimitsThatFromDoesNotNameAreNew) {
  const Rule rule = OneRule(
      "limits: {rpm: 60/m, day: {limit: 1000/d}}, rollout: {percent: 10, from: {limits: {rpm: "
      "30/m}}}");
  EXPECT_EQ(rule.rollout->from.usual[0].limit.cap(), 30);
  EXPECT_FALSE(rule.rollout->from.usual[0].is_absent);
  EXPECT_TRUE(rule.rollout->from.usual[1].is_absent);
  EXPECT_FALSE(rule.variants.usual[1].is_absent);
}

TEST(RolloutTest, TiersAndOverridesHoldForBothGroups) {
  const RuleFile file = ReadOk(R"(
tiers: {pro: {burst_allowance: 7}}
rules:
  - id: a
    limit: 100/s
    override: {vip: {burst_allowance: 1000}}
    rollout: {percent: 10, from: {limit: 50/s}}
)");
  const Rule& rule = file.rules[0];
  EXPECT_EQ(rule.variants.by_tier.at("pro")[0].limit.cap(), 107);
  EXPECT_EQ(rule.rollout->from.by_tier.at("pro")[0].limit.cap(), 57);
  EXPECT_EQ(rule.overrides[0].variants.usual[0].limit.cap(), 1100);
  EXPECT_EQ(rule.overrides[0].from.usual[0].limit.cap(), 1050);
}

// ---- Filling in `from`.

// The numbers of `previous` are those of callers outside of a rollout of the same rule.
void ExpectRoundTrip(const std::string& head, const std::string& fields,
                     const std::string& new_fields) {
  SCOPED_TRACE(fields);
  const RuleFile previous = ReadOk(head + "rules: [{id: a, " + fields + "}]");
  const auto from = FromText(previous.rules[0]);
  ASSERT_TRUE(from);
  SCOPED_TRACE(*from);
  const RuleFile next = ReadOk(head + "rules: [{id: a, " + new_fields +
                               ", rollout: {percent: 10, from: " + *from + "}}]");
  ASSERT_TRUE(next.rules[0].rollout);
  EXPECT_EQ(Numbers(next.rules[0].rollout->from), Numbers(previous.rules[0].variants));
  EXPECT_EQ(FromText(next.rules[0]), from) << "a second version of a rollout keeps `from`";
}

TEST(FromTextTest, HasTheNumbersOfTheRuleInReadableForm) {
  for (const char* fields :
       {"limit: 100 per minute", "limit: 100, window: 60", "limit: 30/s, burst_allowance: 10",
        "capacity: 100, refill_rate: 1.67", "capacity: 100, refill_rate: 10, refill_interval: 500",
        "limit: 100 per minute, burst_multiplier: 1.5, max_cost: 4, max_settlement: 9",
        "reject_all: true", "limit: 0, reject_all: true", "limit: '1_000 per  minute'",
        "params: {limit: 5/s}", "cost: {attribute: tokens, max: 9}, limit: 10/s"}) {
    ExpectRoundTrip("", fields, "limit: 7/s");
  }
  ExpectRoundTrip("", "algorithm: leaky_bucket, capacity: 20, leak_rate: 5",
                  "algorithm: leaky_bucket, limit: 7/s");
  ExpectRoundTrip("", "algorithm: fixed_window, limit: 100_000, anchor: month",
                  "algorithm: fixed_window, limit: 7/s");
  ExpectRoundTrip("", "algorithm: concurrency, limit: 8, ttl: 30s",
                  "algorithm: concurrency, limit: 9");
}

TEST(FromTextTest, NamesTheLimitsOfARuleThatHasSeveral) {
  const std::string limits =
      "limits: {capacity: 60 per minute, \"a b: c\": {limit: 9/h}, window: 8/d}";
  EXPECT_EQ(FromText(OneRule(limits)),
            "{limits: {capacity: {limit: 60 per minute}, \"a b: c\": {limit: 9/h}, "
            "window: {limit: 8/d}}}");
  ExpectRoundTrip("", limits, "limits: {capacity: 1/m, \"a b: c\": 1/h, window: 1/d}");
}

TEST(FromTextTest, HasTheDefaultsThatWereInForce) {
  const RuleFile previous =
      ReadOk("defaults: {window: 60, max_cost: 5}\nrules: [{id: a, limit: 100}]");
  EXPECT_EQ(FromText(previous.rules[0]), "{limit: 100, window: 60, max_cost: 5}");
}

TEST(FromTextTest, LeavesNumbersOfTiersWhereTheyAre) {
  const std::string tiers = "tiers: {free: 10/m, pro: {limit: 100/m, burst_allowance: 5}}\n";
  EXPECT_EQ(FromText(ReadOk(tiers + "rules: [{id: a}]").rules[0]), "{}");
  ExpectRoundTrip(tiers, "per: api_key", "per: api_key, limit: 7/s");
  ExpectRoundTrip(tiers, "per: api_key, limit: 9/s", "per: api_key, limit: 7/s");
}

TEST(FromTextTest, IsNothingWhereCallersWereNotLimited) {
  EXPECT_EQ(FromText(OneRule("limit: 1/s, enabled: false")), std::nullopt);
  EXPECT_EQ(FromText(OneRule("limit: 1/s, shadow: true")), std::nullopt);
  EXPECT_EQ(FromText(OneRule("limit: 1/s, rollout: {percent: 5}")), std::nullopt);
  EXPECT_EQ(FromText(OneRule("limits: [{limit: 1/s, shadow: true}]")), std::nullopt);
  EXPECT_EQ(FromText(OneRule("limits: {a: {limit: 1/s, shadow: true}, b: 2/s}")),
            "{limits: {b: {limit: 2/s}}}");
}

TEST(FillInFromTest, ChangesOnlyRolloutsWithoutFromOfRulesThatWereThere) {
  const RuleFile previous = ReadOk(R"(
rules:
  - {id: flow, limit: 100/m}
  - {id: block, limit: 200/m}
  - {id: written, limit: 300/m}
  - {id: plain, limit: 400/m}
  - {id: ended, limit: 500/m, expires_at: 2026-11-01T00:00:00Z}
)");
  const std::string text = R"(# Rules of the ämpel service.
rules:
  - {id: flow, description: ä, limit: 110/m, rollout: {percent: 10}}   # 10 %
  - id: block
    limit: 210/m
    rollout:
      # Careful.
      percent: 20
      by: api_key
    per: api_key
  - {id: written, limit: 310/m, rollout: {percent: 10, from: 1/m}}
  - {id: plain, limit: 410/m}
  - {id: ended, limit: 510/m, rollout: {percent: 10}}
  - {id: added, limit: 610/m, rollout: {percent: 10}}
)";
  const FilledText filled = FillInFrom(previous, text, kNow);
  EXPECT_TRUE(filled.not_filled.empty());
  EXPECT_EQ(filled.yaml, R"(# Rules of the ämpel service.
rules:
  - {id: flow, description: ä, limit: 110/m, rollout: {from: {limit: 100/m}, percent: 10}}   # 10 %
  - id: block
    limit: 210/m
    rollout:
      # Careful.
      from: {limit: 200/m}
      percent: 20
      by: api_key
    per: api_key
  - {id: written, limit: 310/m, rollout: {percent: 10, from: 1/m}}
  - {id: plain, limit: 410/m}
  - {id: ended, limit: 510/m, rollout: {percent: 10}}
  - {id: added, limit: 610/m, rollout: {percent: 10}}
)");
  const RuleFile next = ReadOk(filled.yaml);
  EXPECT_EQ(next.rules[0].rollout->from.usual[0].limit.cap(), 100);
  EXPECT_EQ(FillInFrom(ReadOk(filled.yaml), filled.yaml, kNow).yaml, filled.yaml);
}

TEST(FillInFromTest, NamesRulesWhoseRolloutIsSharedOrHasAnAnchor) {
  const RuleFile previous =
      ReadOk("rules: [{id: a, limit: 1/s}, {id: b, limit: 2/s}, {id: c, limit: 3/s}]");
  const std::string text = R"(
x-share: &share {percent: 10}
rules:
  - {id: a, limit: 5/s, rollout: *share}
  - {id: b, limit: 5/s, rollout: *share}
  - {id: c, limit: 5/s, rollout: !!map {percent: 10}}
)";
  const FilledText filled = FillInFrom(previous, text, kNow);
  const RuleFile read = ReadOk(filled.yaml);
  for (const Rule& rule : read.rules) {
    const bool named = std::find(filled.not_filled.begin(), filled.not_filled.end(), rule.id) !=
                       filled.not_filled.end();
    EXPECT_NE(rule.rollout->has_from, named) << rule.id << "\n" << filled.yaml;
  }
  EXPECT_FALSE(read.rules[0].rollout->has_from);
}

TEST(FillInFromTest, FindsTheRolloutAfterAByteOrderMarkAndWithOtherLineEnds) {
  const RuleFile previous = ReadOk("rules: [{id: a, limit: 1/s}]");
  for (const char* text : {"\xEF\xBB\xBFrules: [{id: a, limit: 5/s, rollout: {percent: 10}}]",
                           "rules:\r\n- id: a\r\n  limit: 5/s\r\n  rollout:\r\n    percent: 10\r\n",
                           "rules:\n- id: a\n  limit: 5/s\n  rollout: {\n percent: 10}\n",
                           R"({"rules":[{"id":"a","limit":"5/s","rollout":{"percent":10}}]})"}) {
    const FilledText filled = FillInFrom(previous, text, kNow);
    EXPECT_TRUE(filled.not_filled.empty()) << text;
    const RuleFile next = ReadOk(filled.yaml);
    ASSERT_EQ(next.rules.size(), 1U);
    EXPECT_TRUE(next.rules[0].rollout->has_from) << filled.yaml;
  }
}

TEST(FillInFromTest, ReturnsATextWithErrorsUnchanged) {
  const RuleFile previous = ReadOk("rules: [{id: a, limit: 1/s}]");
  for (const char* text : {"rules: [{id: a, limit: 1/x, rollout: {percent: 10}}]", "a: [", ""}) {
    EXPECT_EQ(FillInFrom(previous, text, kNow).yaml, text);
  }
}

TEST(FillInFromTest, AnAlgorithmThatWasTheDefaultIsWrittenIfTheRuleChangesIt) {
  const auto filled = FillInFrom(
      ReadOk("rules: [{id: a, limit: 1/s}]"),
      "rules: [{id: a, algorithm: leaky_bucket, limit: 2/s, rollout: {percent: 10}}]", kNow);
  EXPECT_NE(filled.yaml.find("from: {algorithm: token_bucket, limit: 1/s}"), std::string::npos)
      << filled.yaml;
  EXPECT_NE(Complaints(filled.yaml), "");
}

TEST(FillInFromTest, ANumberThatDoesNotFitIsAnErrorOfTheResult) {
  const RuleFile previous = ReadOk("rules: [{id: a, algorithm: fixed_window, limit: 100/m}]");
  const auto filled =
      FillInFrom(previous, "rules: [{id: a, limit: 100/m, rollout: {percent: 10}}]", kNow);
  EXPECT_EQ(Complaints(filled.yaml),
            "1:47: rules[0].rollout.from: the limit `requests` is a fixed_window here and a "
            "token_bucket in the rule; a rollout can't change the algorithm, because callers keep "
            "what they have left: make a rule with another `id` instead\n");
}

}  // namespace
}  // namespace sluice::rules
