// Rules and limits that begin and end by themselves, and rollouts to a share of the callers.

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/timestamp.h"
#include "match/cohort.h"
#include "match/load_rules.h"
#include "match/rule_set.h"
#include "rules/reader.h"

namespace sluice::match {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<const RuleSet> Compiled(std::string_view yaml) {
  rules::ReadResult result = rules::Read("test.yaml", yaml);
  for (const config_text::Diagnostic& error : result.errors) ADD_FAILURE() << Describe(error);
  return RuleSet::Compile(result.file ? *std::move(result.file) : rules::RuleFile());
}

// "rule.limit cap", with the cohort where there is one.
std::vector<std::string> Found(const RuleSet& rules, const char* time,
                               const std::vector<Attribute>& attributes) {
  Match match;
  rules.Find(attributes, 1, *ParseTimestamp(time), match);
  std::vector<std::string> found;
  for (const MatchedLimit& each : match.limits()) {
    std::string text = each.rule->id + "." + each.limit->name + " ";
    text += std::to_string(each.limit->limit.cap());
    if (each.cohort != Cohort::kAll) text += " " + std::string(NameOf(each.cohort));
    found.push_back(text);
  }
  for (const rules::Rule* rule : match.lacking()) found.push_back(rule->id + " lacks");
  EXPECT_EQ(match.matched(), !match.limits().empty());
  return found;
}

constexpr const char* kBefore = "2026-12-01T07:59:59.999999Z";
constexpr const char* kFirst = "2026-12-01T08:00:00Z";
constexpr const char* kLast = "2026-12-01T08:59:59.999999Z";
constexpr const char* kAfter = "2026-12-01T09:00:00Z";

TEST(ScheduleMatchTest, ARuleMatchesFromItsStartUntilItsExpiry) {
  const auto rules = Compiled(R"(
rules:
  - {id: sale, per: user, final: true, on_missing: skip, limit: 5/s,
     starts_at: 2026-12-01T08:00:00Z, expires_at: 2026-12-01T09:00:00Z}
  - {id: usual, per: user, on_missing: skip, limit: 1/s}
)");
  for (const char* time : {kBefore, kAfter}) {
    EXPECT_THAT(Found(*rules, time, {{"user", "a"}}), ElementsAre("usual.requests 1"));
    EXPECT_THAT(Found(*rules, time, {}), ElementsAre("usual lacks"));
  }
  for (const char* time : {kFirst, kLast}) {
    EXPECT_THAT(Found(*rules, time, {{"user", "a"}}), ElementsAre("sale.requests 5"));
    EXPECT_THAT(Found(*rules, time, {}), ElementsAre("sale lacks", "usual lacks"));
  }
}

TEST(ScheduleMatchTest, EachLimitHasItsOwnTimes) {
  const auto rules = Compiled(R"(
rules:
  - id: a
    per: [user, model]
    final: true
    limits:
      soon: {limit: 1/s, starts_at: 2026-12-01T08:00:00Z}
      always: 2/s
      past: {limit: 3/s, expires_at: 2026-12-01T09:00:00Z}
  - {id: b, per: [user], limit: 9/s}
)");
  const std::vector<Attribute> call = {{"user", "u"}, {"model", "m"}};
  EXPECT_THAT(Found(*rules, kBefore, call), ElementsAre("a.always 2", "a.past 3"));
  EXPECT_THAT(Found(*rules, kFirst, call), ElementsAre("a.soon 1", "a.always 2", "a.past 3"));
  EXPECT_THAT(Found(*rules, kAfter, call), ElementsAre("a.soon 1", "a.always 2"));
  Match match;
  rules->Find(call, 1, *ParseTimestamp(kAfter), match);
  EXPECT_EQ(match.limits()[1].key.scope, "a:always") << "a limit keeps its key";
  EXPECT_EQ(match.limits()[1].key.rest, "m");
}

TEST(ScheduleMatchTest, ARuleWithoutALimitInForceDoesNotMatch) {
  const auto rules = Compiled(R"(
rules:
  - id: a
    per: [user]
    on_missing: deny
    final: true
    limits: [{name: x, limit: 1/s, starts_at: 2026-12-01T08:00:00Z, expires_at: 2026-12-01T09:00:00Z}]
  - {id: b, per: [], limit: 9/s}
)");
  EXPECT_THAT(Found(*rules, kBefore, {{"user", "u"}}), ElementsAre("b.requests 9"));
  EXPECT_THAT(Found(*rules, kBefore, {}), ElementsAre("b.requests 9"));
  EXPECT_THAT(Found(*rules, kFirst, {{"user", "u"}}), ElementsAre("a.x 1"));
  EXPECT_THAT(Found(*rules, kFirst, {}), ElementsAre("a.x 1", "a lacks"));
  EXPECT_THAT(Found(*rules, kAfter, {}), ElementsAre("b.requests 9"));
}

TEST(ScheduleMatchTest, AnExpiredRuleIsAWarningWhenItIsLoaded) {
  Live<RuleSet> live;
  const std::string yaml = "rules: [{id: a, limit: 1/s, expires_at: 2026-12-01T09:00:00Z}]";
  EXPECT_THAT(LoadRules(live, "r", yaml, *ParseTimestamp(kLast)).warnings, IsEmpty());
  EXPECT_THAT(LoadRules(live, "r", yaml + " ", *ParseTimestamp(kAfter)).warnings,
              ElementsAre("r:1:41: the rule `a` has expired: it applies to no call since "
                          "2026-12-01T09:00:00Z"));
}

TEST(RolloutMatchTest, CallersOutsideGetTheNumbersOfFromUnderTheSameKey) {
  const auto rules = Compiled(R"(
rules:
  - id: api
    per: [api_key]
    limits: {rpm: 20/m, day: 1000/d}
    override: {sk_3: {limits: {rpm: 77/m}}}
    rollout: {percent: 35, by: api_key, from: {limits: {rpm: 10/m}}}
)");
  // The hashes of these keys are 32.29 % and 40.68 %, and of sk_3 71.78 %.
  EXPECT_THAT(Found(*rules, kFirst, {{"api_key", "sk_1"}}),
              ElementsAre("api.rpm 20 new", "api.day 1000 new"));
  EXPECT_THAT(Found(*rules, kFirst, {{"api_key", "sk_2"}}), ElementsAre("api.rpm 10 old"));
  EXPECT_THAT(Found(*rules, kFirst, {{"api_key", "sk_3"}}), ElementsAre("api.rpm 77 old"));
  Match match;
  const std::vector<Attribute> old = {{"api_key", "sk_2"}};
  rules->Find(old, 1, WallTime{}, match);
  EXPECT_EQ(match.limits()[0].key.scope, "api:rpm");
  EXPECT_EQ(match.limits()[0].key.tag, "sk_2");
}

TEST(RolloutMatchTest, WithoutFromTheRuleDoesNotApplyToOthers) {
  const auto rules = Compiled(R"(
rules:
  - {id: api, per: api_key, final: true, on_missing: skip, limit: 5/s, rollout: {percent: 35}}
  - {id: rest, per: [], limit: 9/s}
)");
  EXPECT_THAT(Found(*rules, kFirst, {{"api_key", "sk_1"}}), ElementsAre("api.requests 5 new"));
  EXPECT_THAT(Found(*rules, kFirst, {{"api_key", "sk_2"}}), ElementsAre("rest.requests 9"));
}

TEST(RolloutMatchTest, AHigherShareOnlyAddsCallers) {
  std::set<std::string> before;
  for (const std::uint32_t share : {0U, 1U, 250U, 1000U, 5000U, 9999U, 10'000U}) {
    std::set<std::string> callers;
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = "sk_" + std::to_string(i);
      const rules::Rollout rollout{.share = share, .by = {}, .from = {}, .position = {}};
      if (CohortOf(rollout, "api", key) == Cohort::kNew) callers.insert(key);
    }
    for (const std::string& key : before) EXPECT_TRUE(callers.contains(key)) << key;
    EXPECT_NEAR(static_cast<double>(callers.size()), 2.0 * share, 400);
    before = std::move(callers);
  }
  EXPECT_EQ(before.size(), 20'000U);
}

TEST(RolloutMatchTest, OneBudgetIsInOneCohort) {
  const auto rules = Compiled(R"(
rules:
  - {id: network, per: ip, limit: 2/s, rollout: {percent: 50, from: 1/s}}
  - {id: client, limit: 2/s, rollout: {percent: 50, from: 1/s}}
  - {id: pair, per: [user, model], on_missing: shared, limit: 2/s,
     rollout: {percent: 50, by: model, from: 1/s}}
)");
  std::set<std::vector<std::string>> found;
  for (int i = 0; i < 50; ++i) {
    const std::string ip = "2001:db8::" + std::to_string(i);
    const std::string model = "m" + std::to_string(i);
    found.insert(
        Found(*rules, kFirst, {{"ip", ip}, {"ip_network", "2001:db8::/64"}, {"model", model}}));
  }
  EXPECT_EQ(found.size(), 1U) << "addresses of one network, and calls without a user";
}

TEST(RolloutMatchTest, AShadowLimitWhoseCostIsInvalidIsLeftOutByItself) {
  const auto rules = Compiled(R"(
rules:
  - id: api
    limits:
      requests: {limit: 5/s, cost: 1}
      tokens: {limit: 100/s, type: tokens, shadow: true, max_cost: 10}
)");
  const char* const now = kFirst;
  EXPECT_THAT(Found(*rules, now, {{"api_key", "a"}, {"tokens", "11"}}),
              ElementsAre("api.requests 5"));
  EXPECT_THAT(Found(*rules, now, {{"api_key", "a"}, {"tokens", "9"}}),
              ElementsAre("api.requests 5", "api.tokens 100"));
}

}  // namespace
}  // namespace sluice::match
