#include "match/explain.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/timestamp.h"
#include "rules/reader.h"

namespace sluice::match {
namespace {

using ::testing::ElementsAre;

rules::RuleFile File(std::string_view yaml) {
  rules::ReadResult result = rules::Read("test.yaml", yaml);
  for (const config_text::Diagnostic& error : result.errors) ADD_FAILURE() << Describe(error);
  return result.file ? *std::move(result.file) : rules::RuleFile();
}

std::vector<std::string> WhyNot(const Explanation& explanation) {
  std::vector<std::string> reasons;
  for (const ExplainedRule& each : explanation.rules) {
    reasons.push_back(each.outcome == RuleOutcome::kMatched ? "met" : each.why_not);
  }
  return reasons;
}

constexpr std::string_view kRules = R"(
tiers: { pro: {}, free: {} }
default_tier: free
rules:
  - { id: off, enabled: false, limit: 1/s }
  - { id: pro, tier: pro, limit: 1/s }
  - { id: key, match: { api_key: "sk_prod_*" }, limit: 1/s }
  - { id: some, match: { user: [alice, bob] }, limit: 1/s }
  - { id: none, match: { user: { absent: true } }, limit: 1/s }
  - { id: model, match: { model: gpt-4 }, limit: 1/s }
  - { id: tenant, per: [tenant], limit: 1/s }
  - { id: last, final: true, limit: 1/s }
  - { id: never, limit: 1/s, per: [] }
)";

TEST(Explain, SaysOfEachRuleWhyItIsNotMet) {
  const rules::RuleFile file = File(kRules);
  const std::vector<Attribute> call = {{"api_key", "k"}, {"user", "eve"}};
  const Explanation explanation = Explain(file, call, 1, WallTime{});
  EXPECT_THAT(
      WhyNot(explanation),
      ElementsAre("it is not enabled", "it is for tier 'pro', and the call is of tier 'free'",
                  "api_key 'k' does not match 'sk_prod_*'",
                  "user 'eve' matches none of 'alice', 'bob'",
                  "user is 'eve', and the rule wants none", "the call has no 'model'",
                  "the call has no 'tenant', which the budget is per", "met",
                  "rule 'last' matches and is final"));
  EXPECT_EQ(explanation.tier, "free");
  EXPECT_EQ(explanation.tier_source, TierSource::kDefault);
  EXPECT_TRUE(explanation.matched);
  ASSERT_EQ(explanation.rules[7].limits.size(), 1U);
  EXPECT_EQ(explanation.rules[7].limits[0].tag, "k");
  EXPECT_EQ(explanation.rules[7].limits[0].scope, "last:requests");
}

TEST(Explain, SaysWhichOverrideIsTakenAndWhereNumbersComeFrom) {
  const rules::RuleFile file = File(R"(
defaults: { algorithm: token_bucket, refill_rate: 2 }
rules:
  - id: r
    capacity: 10
    override: { "vip_*": { capacity: 1000 } }
)");
  const std::vector<Attribute> call = {{"api_key", "vip_1"}};
  const Explanation explanation = Explain(file, call, 1, WallTime{});
  const ExplainedRule& rule = explanation.rules.at(0);
  ASSERT_EQ(rule.outcome, RuleOutcome::kMatched);
  ASSERT_NE(rule.override_taken, nullptr);
  EXPECT_EQ(rule.override_taken->whose.text, "vip_*");
  ASSERT_EQ(rule.limits.size(), 1U);
  EXPECT_EQ(rule.limits[0].limit->limit.cap(), 1000);
  rules::Level capacity = rules::Level::kBuiltIn;
  rules::Level rate = rules::Level::kBuiltIn;
  for (const rules::Setting& setting : rule.limits[0].limit->settings) {
    if (setting.field == "capacity") capacity = setting.level;
    if (setting.field == "refill_rate") rate = setting.level;
  }
  EXPECT_EQ(capacity, rules::Level::kOverride);
  EXPECT_EQ(rate, rules::Level::kDefaults);
}

TEST(Explain, NamesTheEntryOfAList) {
  const rules::RuleFile file =
      File("deny: [10.0.0.0/8]\nallow: [\"k*\"]\nrules: [{ id: r, limit: 1/s }]");
  const std::vector<Attribute> denied = {{"api_key", "k1"}, {"ip", "::ffff:10.1.1.1"}};
  const Explanation explanation = Explain(file, denied, 1, WallTime{});
  EXPECT_EQ(explanation.listed, Listed::kDenied);
  ASSERT_NE(explanation.list_entry, nullptr);
  EXPECT_EQ(explanation.list_entry->text, "10.0.0.0/8");
  EXPECT_EQ(explanation.address, "10.1.1.1");
  EXPECT_TRUE(explanation.rules.empty());
}

TEST(Explain, SaysWhyACostIsRefused) {
  const rules::RuleFile file =
      File("rules: [{ id: r, limit: 100/s, cost: { attribute: tokens, max: 50 } }]");
  const auto refusal = [&](const char* tokens) {
    const std::vector<Attribute> call = {{"api_key", "k"}, {"tokens", tokens}};
    const Explanation explanation = Explain(file, call, 1, WallTime{});
    EXPECT_EQ(explanation.refused, !explanation.rules.at(0).limits.at(0).refusal.empty());
    return explanation.rules.at(0).limits.at(0).refusal;
  };
  EXPECT_EQ(refusal("50"), "");
  EXPECT_EQ(refusal("51"), "tokens 51 is more than max_cost 50");
  EXPECT_EQ(refusal("x"), "tokens 'x' is no whole number of at least 1");
}

TEST(Explain, ShowsSchedulesAndCohorts) {
  const rules::RuleFile file = File(R"(
rules:
  - {id: later, limit: 1/s, starts_at: 2026-12-02T00:00:00Z}
  - {id: over, limit: 1/s, expires_at: 2026-12-01T00:00:00Z}
  - id: part
    limits: {a: {limit: 1/s, starts_at: 2026-12-02T00:00:00Z}, b: 2/s}
  - {id: none, limits: [{limit: 1/s, expires_at: 2026-12-01T00:00:00Z}]}
  - {id: nobody, limit: 1/s, rollout: {percent: 0}}
  - {id: old, limits: {a: 5/s, b: 6/m}, rollout: {percent: 0, from: {limits: {b: 4/m}}}}
  - {id: new, limit: 5/s, rollout: {percent: 100, from: 4/s}}
)");
  const std::vector<Attribute> call = {{"api_key", "k"}};
  const Explanation explanation = Explain(file, call, 1, *ParseTimestamp("2026-12-01T00:00:00Z"));
  EXPECT_THAT(WhyNot(explanation),
              ElementsAre("it starts at 2026-12-02T00:00:00Z", "it expired at 2026-12-01T00:00:00Z",
                          "met", "none of its limits is in force",
                          "the caller is outside of its rollout", "met", "met"));
  const ExplainedRule& part = explanation.rules[2];
  ASSERT_EQ(part.skipped.size(), 1U);
  EXPECT_EQ(part.skipped[0].limit->name, "a");
  EXPECT_EQ(part.skipped[0].why, "it starts at 2026-12-02T00:00:00Z");
  const ExplainedRule& old = explanation.rules[5];
  EXPECT_EQ(old.cohort, Cohort::kOld);
  ASSERT_EQ(old.limits.size(), 1U);
  EXPECT_EQ(old.limits[0].limit->limit.cap(), 4);
  EXPECT_EQ(old.skipped[0].why, "it is new, and the caller is outside of the rollout");
  EXPECT_EQ(explanation.rules[6].cohort, Cohort::kNew);
  EXPECT_EQ(explanation.rules[6].limits[0].limit->limit.cap(), 5);
}

}  // namespace
}  // namespace sluice::match
