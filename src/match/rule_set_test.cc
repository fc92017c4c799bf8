#include "match/rule_set.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/reader.h"

namespace sluice::match {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<const RuleSet> Rules(std::string_view yaml) {
  rules::ReadResult result = rules::Read("test.yaml", yaml);
  for (const config_text::Diagnostic& error : result.errors) ADD_FAILURE() << Describe(error);
  return RuleSet::Compile(result.file ? *std::move(result.file) : rules::RuleFile());
}

// The names of the limits that a call meets, each with its key and its cost.
std::vector<std::string> Met(const RuleSet& rules, std::vector<Attribute> attributes,
                             std::int64_t cost = 1) {
  Match match;
  rules.Find(attributes, cost, WallTime{}, match);
  std::vector<std::string> met;
  for (const MatchedLimit& each : match.limits()) {
    std::string name;
    AppendKeyName(each.key, name);
    met.push_back(name + " costs " + std::to_string(each.cost));
  }
  if (match.refusal() != nullptr) met.push_back("refused by " + match.refusal()->rule->id);
  if (match.listed() == Listed::kAllowed) met.push_back("allowed: " + match.list_entry()->text);
  if (match.listed() == Listed::kDenied) met.push_back("denied: " + match.list_entry()->text);
  for (const rules::Rule* rule : match.lacking()) met.push_back(rule->id + " lacks");
  return met;
}

constexpr std::string_view kExample = R"(
rules:
  - id: "rule_001"
    version: 42
    tier: "pro"
    match:
      api_key_pattern: "sk_prod_*"
      endpoint_regex: "^/v1/orders.*"
    algorithm: "token_bucket"
    params:
      capacity: 100
      refill_rate: 1.67
      window: 60
    override:
      "sk_prod_vip_001":
        capacity: 1000
        refill_rate: 16.67
  - id: "rule_002"
    tier: "free"
    match:
      api_key_pattern: "sk_free_*"
      endpoint_regex: ".*"
    algorithm: "sliding_window_counter"
    params:
      limit: 100
      window: 60
whitelist: ["sk_internal_*", "sk_monitoring_*"]
blacklist: ["sk_revoked_*", "sk_abuse_flagged_*"]
)";

TEST(RuleSet, ACallThatLacksAnAttributeGetsItsOnMissing) {
  const auto rules = Rules(R"(
rules:
  - { id: skips, per: tenant, on_missing: skip, limit: 3/h }
  - { id: silent, per: tenant, limit: 3/h }
  - { id: shares, per: [tenant, model], on_missing: shared, limit: 3/h, override: { a: 9/h } }
  - { id: denies, per: tenant, on_missing: deny, limits: [{ name: hour, limit: 3/h }, { name: day, limit: 5/d }] }
)");
  EXPECT_THAT(Met(*rules, {{"tenant", "a"}, {"model", "m"}}),
              ElementsAre("{a}:skips:requests: costs 1", "{a}:silent:requests: costs 1",
                          "{a}:shares:requests:m costs 1", "{a}:denies:hour: costs 1",
                          "{a}:denies:day: costs 1"));
  EXPECT_THAT(Met(*rules, {{"model", "m"}}),
              ElementsAre("{shares}:shares:requests::missing costs 1",
                          "{denies}:denies:hour::missing costs 1", "skips lacks", "silent lacks",
                          "shares lacks", "denies lacks"));
}

TEST(RuleSet, ARuleThatDeniesCallsWithoutAnAttributeLetsNothingFit) {
  const auto rules = Rules("rules: [{ id: a, per: tenant, on_missing: deny, limit: 3/h }]");
  Match match;
  rules->Find({}, 1, WallTime{}, match);
  ASSERT_EQ(match.limits().size(), 1U);
  EXPECT_TRUE(match.matched());
  EXPECT_TRUE(match.limits()[0].limit->reject_all);
  EXPECT_TRUE(match.limits()[0].limit->is_for_missing);
}

// Else a caller that chooses the values could use up the shared budget of calls without one.
TEST(RuleSet, NoValueLeadsToTheBudgetOfCallsThatLackOne) {
  const auto rules =
      Rules("rules: [{ id: a, per: [tenant, model], on_missing: shared, limit: 3/h }]");
  EXPECT_THAT(Met(*rules, {{"tenant", "a"}, {"model", ":missing"}}),
              ElementsAre("{a}:a:requests:%3Amissing costs 1"));
  EXPECT_THAT(Met(*rules, {{"tenant", "a"}, {"model", ""}}),
              ElementsAre("{a}:a:requests::missing costs 1", "a lacks"));
}

TEST(RuleSet, ATierThatThereIsNotCountsAsNone) {
  const auto rules = Rules(R"(
tiers: { free: { limit: 3/h }, pro: { limit: 9/h } }
default_tier: free
keys: { "sk_pro_*": pro }
rules: [{ id: client }]
)");
  const auto cap = [&](std::vector<Attribute> attributes) {
    Match match;
    rules->Find(attributes, 1, WallTime{}, match);
    return match.limits().empty() ? 0 : match.limits()[0].limit->limit.cap();
  };
  EXPECT_EQ(cap({{"api_key", "a"}, {"tier", "pro"}}), 9);
  EXPECT_EQ(cap({{"api_key", "a"}, {"tier", "gold"}}), 3);
  EXPECT_EQ(cap({{"api_key", "sk_pro_1"}, {"tier", "gold"}}), 9);
}

TEST(RuleSet, DoesWhatTheExampleSays) {
  const auto rules = Rules(kExample);
  Match match;
  const std::vector<Attribute> vip = {{"api_key", "sk_prod_vip_001"}, {"endpoint", "/v1/orders/7"}};
  rules->Find(vip, 1, WallTime{}, match);
  ASSERT_EQ(match.limits().size(), 1U);
  EXPECT_EQ(match.limits()[0].limit->limit.cap(), 1000);
  const std::vector<Attribute> usual = {{"api_key", "sk_prod_1"}, {"endpoint", "/v1/orders"}};
  rules->Find(usual, 1, WallTime{}, match);
  ASSERT_EQ(match.limits().size(), 1U);
  EXPECT_EQ(match.limits()[0].limit->limit.cap(), 100);
  EXPECT_THAT(Met(*rules, {{"api_key", "sk_prod_1"}, {"endpoint", "/v2"}}), IsEmpty());
  EXPECT_THAT(Met(*rules, {{"api_key", "sk_free_1"}, {"endpoint", "/"}}),
              ElementsAre("{sk_free_1}:rule_002:requests: costs 1"));
  EXPECT_THAT(Met(*rules, {{"api_key", "sk_internal_1"}}), ElementsAre("allowed: sk_internal_*"));
  EXPECT_THAT(Met(*rules, {{"api_key", "sk_revoked_1"}}), ElementsAre("denied: sk_revoked_*"));
}

TEST(RuleSet, TheTierThatIsKnownDecides) {
  const auto rules = Rules(kExample);
  // Known from an attribute: the key's pattern does not make another of it.
  EXPECT_THAT(Met(*rules, {{"api_key", "sk_prod_1"}, {"endpoint", "/v1/orders"}, {"tier", "free"}}),
              IsEmpty());
  const auto by_key = Rules(R"(
tiers: { pro: {}, free: {} }
keys: { "k_pro_*": pro, "k_pro_0": free }
default_tier: free
rules:
  - { id: p, tier: pro, limit: 1/s }
  - { id: f, tier: free, limit: 1/s }
)");
  EXPECT_THAT(Met(*by_key, {{"api_key", "k_pro_1"}}), ElementsAre("{k_pro_1}:p:requests: costs 1"));
  EXPECT_THAT(Met(*by_key, {{"api_key", "k_pro_0"}}), ElementsAre("{k_pro_0}:f:requests: costs 1"));
  EXPECT_THAT(Met(*by_key, {{"api_key", "x"}}), ElementsAre("{x}:f:requests: costs 1"));
}

TEST(RuleSet, WithoutPerTheClientIsTheKeyOrTheAddress) {
  const auto rules = Rules("rules: [{ id: r, limit: 1/s }]");
  EXPECT_THAT(Met(*rules, {{"api_key", "k"}, {"ip", "1.2.3.4"}}),
              ElementsAre("{k}:r:requests: costs 1"));
  EXPECT_THAT(Met(*rules, {{"ip", "1.2.3.4"}}), ElementsAre("{1.2.3.4}:r:requests:ip costs 1"));
  EXPECT_THAT(Met(*rules, {{"api_key", "1.2.3.4"}}), ElementsAre("{1.2.3.4}:r:requests: costs 1"));
  EXPECT_THAT(Met(*rules, {{"user", "u"}}), ElementsAre("r lacks"));
}

TEST(RuleSet, AnAddressIsOneBudgetHoweverItIsWritten) {
  const auto rules = Rules("rules: [{ id: r, per: [ip], limit: 1/s }]");
  for (const char* text : {"::ffff:1.2.3.4", "::FFFF:102:304", "1.2.3.4"}) {
    EXPECT_THAT(Met(*rules, {{"ip", text}}), ElementsAre("{1.2.3.4}:r:requests: costs 1"));
  }
  EXPECT_THAT(Met(*rules, {{"ip", "2001:DB8:0::1"}}),
              ElementsAre("{2001%3Adb8%3A%3A1}:r:requests: costs 1"));
}

TEST(RuleSet, BudgetsMayBeCountedByANetworkAndByAKeysHash) {
  const auto rules = Rules(R"(
rules:
  - { id: client, limit: 10/s, override: { sk_1: 20/s, "2001:db8::1": 30/s } }
  - { id: address, match: { ip: "2001:db8::1" }, per: [user, ip], limit: 10/s }
  - { id: key, match: { api_key: "sk_*" }, per: api_key, limit: 10/s }
deny: ["2001:db8::2", sk_gone]
)");
  EXPECT_THAT(Met(*rules, {{"ip", "2001:DB8::1"}, {"ip_network", "2001:db8::/64"}, {"user", "u"}}),
              ElementsAre("{2001%3Adb8%3A%3A%2F64}:client:requests:ip costs 1",
                          "{u}:address:requests:2001%3Adb8%3A%3A%2F64 costs 1"));
  EXPECT_THAT(Met(*rules, {{"ip", "2001:db8::2"}, {"ip_network", "2001:db8::/64"}}),
              ElementsAre("denied: 2001:db8::2"));
  EXPECT_THAT(
      Met(*rules, {{"api_key", "sk_1"}, {"api_key_hash", "hmac:1"}}),
      ElementsAre("{hmac%3A1}:client:requests: costs 1", "{hmac%3A1}:key:requests: costs 1"));
  EXPECT_THAT(Met(*rules, {{"api_key", "sk_gone"}, {"api_key_hash", "hmac:1"}}),
              ElementsAre("denied: sk_gone"));
  // What stands for something is nothing without it.
  EXPECT_THAT(Met(*rules, {{"api_key_hash", "hmac:1"}, {"ip_network", "2001:db8::/64"}}),
              ElementsAre("client lacks"));
}

TEST(RuleSet, KeysHoldAllThatABudgetIsPer) {
  const auto rules = Rules(R"(
rules:
  - { id: both, per: [tenant, model], limit: 1/s }
  - { id: tagged, per: [tenant, model], hash_tag: model, limit: 1/s }
  - { id: all, per: [], limit: 1/s }
)");
  EXPECT_THAT(Met(*rules, {{"tenant", "a:b"}, {"model", "m"}}),
              ElementsAre("{a%3Ab}:both:requests:m costs 1", "{m}:tagged:requests:a%3Ab costs 1",
                          "{all}:all:requests: costs 1"));
  EXPECT_THAT(Met(*rules, {{"tenant", "t"}, {"model", ""}}),
              ElementsAre("{all}:all:requests: costs 1", "both lacks", "tagged lacks"));
}

TEST(RuleSet, EndpointsAreOneByTheirTemplate) {
  const auto rules = Rules(R"(
endpoints: ["/v1/orders/{id}"]
rules:
  - { id: r, match: { endpoint: "/v1/orders/{id}" }, per: [endpoint], limit: 1/s }
)");
  const auto orders = ElementsAre("{%2Fv1%2Forders%2F%7Bid%7D}:r:requests: costs 1");
  EXPECT_THAT(Met(*rules, {{"endpoint", "/v1/orders/123"}}), orders);
  EXPECT_THAT(Met(*rules, {{"endpoint", "/v1/orders/456?a=b#c"}}), orders);
  EXPECT_THAT(Met(*rules, {{"endpoint", "/v1/carts/456"}}), IsEmpty());
}

TEST(RuleSet, RegularExpressionsSeeThePathAndNotItsTemplate) {
  const auto rules = Rules(R"(
endpoints: ["/v1/orders/{id}"]
rules:
  - { id: r, match: { endpoint_regex: "\\{id\\}" }, per: [], limit: 1/s }
  - { id: s, match: { endpoint_regex: "^/v1/orders/\\{[a-z]+" }, per: [], limit: 1/s }
)");
  EXPECT_THAT(Met(*rules, {{"endpoint", "/v1/orders/123"}}), IsEmpty());
  EXPECT_THAT(Met(*rules, {{"endpoint", "/v1/orders/{id}"}}),
              ElementsAre("{r}:r:requests: costs 1", "{s}:s:requests: costs 1"));
}

TEST(RuleSet, AKeyThatIsNotKnownCountsAsAbsentButIsStillDenied) {
  const auto rules = Rules(R"(
known_keys: ["sk_*"]
allow: ["made_up_2"]
deny: ["made_up_1"]
rules: [{ id: r, limit: 1/s }]
)");
  EXPECT_THAT(Met(*rules, {{"api_key", "sk_1"}, {"ip", "1.1.1.1"}}),
              ElementsAre("{sk_1}:r:requests: costs 1"));
  EXPECT_THAT(Met(*rules, {{"api_key", "made_up_2"}, {"ip", "1.1.1.1"}}),
              ElementsAre("{1.1.1.1}:r:requests:ip costs 1"));
  EXPECT_THAT(Met(*rules, {{"api_key", "made_up_1"}}), ElementsAre("denied: made_up_1"));
}

TEST(RuleSet, AFinalRuleEndsTheSearchIfItIsMet) {
  const auto rules = Rules(R"(
rules:
  - { id: a, match: { user: u }, per: [user], final: true, limit: 1/s }
  - { id: b, per: [], limit: 1/s }
)");
  EXPECT_THAT(Met(*rules, {{"user", "u"}}), ElementsAre("{u}:a:requests: costs 1"));
  EXPECT_THAT(Met(*rules, {{"user", "v"}}), ElementsAre("{b}:b:requests: costs 1"));
}

TEST(RuleSet, CostsComeFromTheCallOrFromAnAttribute) {
  const auto rules = Rules(R"(
rules:
  - { id: r, per: [], limit: 100/s }
  - { id: t, per: [], type: tokens, limit: 1000/s, cost: { attribute: tokens, max: 50 } }
)");
  EXPECT_THAT(Met(*rules, {{"tokens", "40"}}, 2),
              ElementsAre("{r}:r:requests: costs 2", "{t}:t:tokens: costs 40"));
  EXPECT_THAT(Met(*rules, {{"tokens", "40"}}, 0),
              ElementsAre("{r}:r:requests: costs 0", "{t}:t:tokens: costs 0"));
  for (const char* wrong : {"51", "0", "-1", "x", "1.5", "99999999999999999999"}) {
    EXPECT_THAT(Met(*rules, {{"tokens", wrong}}), ElementsAre("refused by t")) << wrong;
  }
}

TEST(RuleSet, AMatchCanBeUsedWithSeveralRuleSets) {
  const auto small = Rules("rules: [{ id: s, per: [], limit: 1/s }]");
  const auto large = Rules("rules: [{ id: l, match: { a: x, b: y }, per: [c], limit: 1/s }]");
  Match match;
  const std::vector<Attribute> attributes = {{"a", "x"}, {"b", "y"}, {"c", "z"}};
  large->Find(attributes, 1, WallTime{}, match);
  ASSERT_EQ(match.limits().size(), 1U);
  small->Find({}, 1, WallTime{}, match);
  ASSERT_EQ(match.limits().size(), 1U);
  EXPECT_EQ(match.limits()[0].rule->id, "s");
  large->Find({}, 1, WallTime{}, match);
  EXPECT_TRUE(match.limits().empty());
  EXPECT_FALSE(match.matched());
}

TEST(RuleSetTest, AHostIsTheSameHoweverItIsWritten) {
  const auto rules = Rules(R"(
rules:
  - { id: exact, match: { host: API.Example.com }, per: host, limit: 5 per minute }
  - { id: glob, match: { host_pattern: "*.Example.com" }, per: [], limit: 5 per minute }
  - { id: regex, match: { host_regex: "^Api[.]" }, per: [], limit: 5 per minute }
  - { id: address, match: { host: "2001:DB8::1" }, per: [], limit: 5 per minute }
)");
  const auto usual = Met(*rules, {{"host", "api.example.com"}});
  EXPECT_THAT(usual,
              ElementsAre("{api.example.com}:exact:requests: costs 1",
                          "{glob}:glob:requests: costs 1", "{regex}:regex:requests: costs 1"));
  for (const char* host : {"API.example.com", "api.EXAMPLE.com.", "api.example.com:8443",
                           "Api.example.com.:443", "api.example.com:"}) {
    EXPECT_EQ(Met(*rules, {{"host", host}}), usual) << host;
  }
  for (const char* host : {"[2001:db8::1]:443", "[2001:DB8:0::1]", "2001:db8::1"}) {
    EXPECT_THAT(Met(*rules, {{"host", host}}), ElementsAre("{address}:address:requests: costs 1"))
        << host;
  }
}

TEST(RuleSetTest, AnOverrideForAHostIsTakenHoweverTheHostIsWritten) {
  const auto rules = Rules(R"(
rules:
  - { id: each, per: host, limit: 5 per minute, override: { Big.example.com: 50 per minute } }
)");
  for (const char* host : {"big.example.com", "BIG.example.com:443"}) {
    Match match;
    const std::vector<Attribute> attributes = {{"host", host}};
    rules->Find(attributes, 1, WallTime{}, match);
    ASSERT_EQ(match.limits().size(), 1U);
    EXPECT_EQ(match.limits()[0].limit->limit.cap(), 50) << host;
  }
}

}  // namespace
}  // namespace sluice::match
