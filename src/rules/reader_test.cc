#include "rules/reader.h"

#include <algorithm>
#include <chrono>
#include <fstream>
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ReadOk;
using ::testing::SizeIs;
using testing::Words;

std::vector<std::string> Texts(const std::vector<Pattern>& patterns) {
  std::vector<std::string> texts;
  for (const Pattern& pattern : patterns) {
    constexpr const char* kKinds[] = {"exact", "glob", "regex", "cidr"};
    texts.push_back(std::string(kKinds[static_cast<int>(pattern.kind)]) + " " + pattern.text);
  }
  return texts;
}

Rule OnlyRule(const std::string& fields) {
  RuleFile file = ReadOk("rules: [{id: a, limit: 10/s, " + fields + "}]");
  return file.rules.empty() ? Rule() : file.rules[0];
}

TEST(ReaderTest, TheFirstFormIsRead) {
  const RuleFile file = ReadOk(R"(
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
whitelist: ["sk_internal_*"]
blacklist: ["sk_revoked_*", 10.0.0.0/8]
)");
  ASSERT_THAT(file.rules, SizeIs(1));
  const Rule& rule = file.rules[0];
  EXPECT_EQ(rule.id, "rule_001");
  EXPECT_EQ(rule.version, 42);
  EXPECT_EQ(rule.tier, "pro");
  EXPECT_FALSE(rule.per);
  EXPECT_EQ(rule.position, (config_text::Position{3, 5}));
  ASSERT_THAT(rule.match, SizeIs(2));
  EXPECT_EQ(rule.match[0].attribute, "api_key");
  EXPECT_THAT(Texts(rule.match[0].any_of), ElementsAre("glob sk_prod_*"));
  EXPECT_EQ(rule.match[1].attribute, "endpoint");
  EXPECT_THAT(Texts(rule.match[1].any_of), ElementsAre("regex ^/v1/orders.*"));
  ASSERT_THAT(rule.variants.usual, SizeIs(1));
  EXPECT_EQ(rule.variants.usual[0].name, "requests");
  EXPECT_EQ(rule.variants.usual[0].window, seconds(60));
  EXPECT_EQ(Words(rule.variants.usual[0].limit), "token_bucket 100, 167/100000000 per 1 µs");
  ASSERT_THAT(rule.overrides, SizeIs(1));
  EXPECT_EQ(rule.overrides[0].whose.text, "sk_prod_vip_001");
  EXPECT_EQ(Words(rule.overrides[0].variants.usual[0].limit),
            "token_bucket 1000, 1667/100000000 per 1 µs");
  EXPECT_THAT(Texts(file.allow), ElementsAre("glob sk_internal_*"));
  EXPECT_THAT(Texts(file.deny), ElementsAre("glob sk_revoked_*", "cidr 10.0.0.0/8"));
}

TEST(ReaderTest, TheSecondFormIsRead) {
  const RuleFile file = ReadOk(R"(
rate_limits:
  - { name: all, algorithm: token_bucket, capacity: 10000, refill_rate: 100, refill_interval: 1000, scope: global }
  - { name: user, capacity: 1000, refill_rate: 10, refill_interval: 1000, scope: per_user, burst_allowance: 500 }
  - { name: login, capacity: 5, refill_rate: 1, refill_interval: 60000, scope: per_ip, priority: strict }
  - { name: team, limit: 10/s, scope: custom, attributes: [tenant, model] }
)");
  ASSERT_THAT(file.rules, SizeIs(4));
  EXPECT_EQ(file.rules[0].id, "all");
  EXPECT_THAT(*file.rules[0].per, IsEmpty());
  EXPECT_EQ(Words(file.rules[0].variants.usual[0].limit),
            "token_bucket 10000, 100/1 per 1000000 µs");
  EXPECT_THAT(*file.rules[1].per, ElementsAre("user"));
  EXPECT_EQ(Words(file.rules[1].variants.usual[0].limit), "token_bucket 1500, 10/1 per 1000000 µs");
  EXPECT_THAT(*file.rules[2].per, ElementsAre("ip"));
  EXPECT_EQ(Words(file.rules[2].variants.usual[0].limit), "token_bucket 5, 1/1 per 60000000 µs");
  EXPECT_EQ(file.rules[2].priority, Priority::kStrict);
  EXPECT_EQ(file.rules[2].on_store_failure, OnStoreFailure::kLocal);
  EXPECT_THAT(*file.rules[3].per, ElementsAre("tenant", "model"));
}

TEST(ReaderTest, RulesAreInTheOrderOfEvaluation) {
  const RuleFile file = ReadOk(R"(
rules:
  - { id: b, limit: 1/s }
  - { id: d, limit: 1/s, order: 5 }
  - { id: a, limit: 1/s, order: -1 }
rate_limits: [{ name: c, limit: 1/s }]
)");
  std::vector<std::string> ids;
  for (const Rule& rule : file.rules) ids.push_back(rule.id);
  EXPECT_THAT(ids, ElementsAre("a", "b", "c", "d"));
}

TEST(ReaderTest, ConditionsHaveManyForms) {
  const Rule rule = OnlyRule(R"(match: {
    api_key: [k1, "k2*"], user: alice, user_pattern: "a?c", model_regex: "^gpt", ip: [10.0.0.1, "::/0"],
    methods: [GET, post], endpoint: { exact: "/a*b" }, session: { present: true }, tenant: { absent: yes },
    team: { in: [x, y] }, plan: { glob: [p*, q] }, region: { regex: [eu, us] }, bot: { present: false }})");
  std::vector<std::string> found;
  for (const Condition& condition : rule.match) {
    std::string words = condition.attribute;
    if (condition.presence == Presence::kPresent) words += " present";
    if (condition.presence == Presence::kAbsent) words += " absent";
    for (const std::string& text : Texts(condition.any_of)) words += " " + text;
    if (condition.ignore_case) words += " ignoring case";
    found.push_back(words);
  }
  EXPECT_THAT(found, ElementsAre("api_key exact k1 glob k2*", "user exact alice", "user glob a?c",
                                 "model regex ^gpt", "ip cidr 10.0.0.1 cidr ::/0",
                                 "method exact GET exact post ignoring case", "endpoint exact /a*b",
                                 "session present", "tenant absent", "team exact x exact y",
                                 "plan glob p* glob q", "region regex eu regex us", "bot absent"));
}

TEST(ReaderTest, OneTierIsTheRulesOwnAndSeveralAreACondition) {
  EXPECT_EQ(OnlyRule("tier: pro").tier, "pro");
  EXPECT_EQ(OnlyRule("match: {tier: pro}").tier, "pro");
  const Rule rule = OnlyRule("tier: [pro, free]");
  EXPECT_FALSE(rule.tier);
  ASSERT_THAT(rule.match, SizeIs(1));
  EXPECT_EQ(rule.match[0].attribute, "tier");
  EXPECT_THAT(Texts(rule.match[0].any_of), ElementsAre("exact pro", "exact free"));
}

TEST(ReaderTest, PerLeftOutIsNotGlobal) {
  EXPECT_FALSE(OnlyRule("final: true").per);
  EXPECT_THAT(*OnlyRule("per: []").per, IsEmpty());
  EXPECT_THAT(*OnlyRule("per: ip").per, ElementsAre("ip"));
  EXPECT_THAT(*OnlyRule("per: [tenant, model], hash_tag: model").per,
              ElementsAre("tenant", "model"));
  EXPECT_EQ(OnlyRule("per: [tenant, model], hash_tag: model").hash_tag, "model");
}

TEST(ReaderTest, SwitchesAreOnOrOff) {
  const Rule usual = OnlyRule("version: 1");
  EXPECT_TRUE(usual.enabled && usual.headers);
  EXPECT_FALSE(usual.final || usual.shadow);
  const Rule rule = OnlyRule("enabled: false, headers: off, final: true, shadow: Yes");
  EXPECT_FALSE(rule.enabled || rule.headers);
  EXPECT_TRUE(rule.final && rule.shadow);
}

TEST(ReaderTest, AFullStoreIsHandledAsTheRuleOrTheFileSays) {
  const auto mode = [](const std::string& top, const std::string& rule) {
    return ReadOk(top + "\nrules: [{id: a, limit: 10/s, " + rule + "}]").rules.at(0).when_full;
  };
  EXPECT_EQ(mode("", "version: 1"), WhenFull::kShared);
  EXPECT_EQ(mode("", "when_full: open"), WhenFull::kOpen);
  EXPECT_EQ(mode("", "on_store_failure: closed"), WhenFull::kShared);
  EXPECT_EQ(mode("when_full: closed", "version: 1"), WhenFull::kClosed);
  EXPECT_EQ(mode("defaults: {when_full: closed}", "version: 1"), WhenFull::kClosed);
  EXPECT_EQ(mode("when_full: closed", "when_full: shared"), WhenFull::kShared);
}

TEST(ReaderTest, AStoreFailureIsHandledAsTheRuleOrTheFileSays) {
  const auto mode = [](const std::string& top, const std::string& rule) {
    return ReadOk(top + "\nrules: [{id: a, limit: 10/s, " + rule + "}]").rules.at(0);
  };
  EXPECT_EQ(mode("", "version: 1").on_store_failure, OnStoreFailure::kOpen);
  EXPECT_EQ(mode("", "priority: strict").on_store_failure, OnStoreFailure::kLocal);
  EXPECT_EQ(mode("", "priority: strict, on_store_failure: closed").on_store_failure,
            OnStoreFailure::kClosed);
  EXPECT_EQ(mode("on_store_failure: closed", "version: 1").on_store_failure,
            OnStoreFailure::kClosed);
  EXPECT_EQ(mode("defaults: {on_store_failure: closed}", "version: 1").on_store_failure,
            OnStoreFailure::kClosed);
  EXPECT_EQ(mode("on_store_failure: closed", "priority: strict").on_store_failure,
            OnStoreFailure::kLocal);
  const Rule local = mode("emergency_limit: 1/s", "on_store_failure: local");
  ASSERT_TRUE(local.emergency);
  EXPECT_EQ(Words(*local.emergency), "token_bucket 1, 1/1000000 per 1 µs");
  EXPECT_FALSE(mode("emergency_limit: 1/s", "version: 1").emergency);
  const Rule own = mode("emergency_limit: 1/s",
                        "on_store_failure: local, emergency_limit: {limit: 5, window: 60}");
  EXPECT_EQ(own.emergency->cap(), 5);
}

TEST(ReaderTest, DenialsAreWhatTheRuleOrTheFileSays) {
  const RuleFile file = ReadOk(R"(
defaults: { denial: { body: "no\n" } }
rules:
  - { id: a, limit: 10/s }
  - id: b
    limit: 10/s
    denial: { status: 403, body: "{}", content_type: application/json, headers: { X-Why: b } }
  - { id: c, limit: 10/s, denial: { status: 503 } }
)");
  const Denial& usual = *file.rules[0].denial;
  EXPECT_EQ(usual.status, 0);
  EXPECT_EQ(usual.body, "no\n");
  EXPECT_EQ(usual.content_type, "text/plain; charset=utf-8");
  const Denial& own = *file.rules[1].denial;
  EXPECT_EQ(own.status, 403);
  EXPECT_EQ(own.content_type, "application/json");
  EXPECT_THAT(own.headers, ElementsAre(std::pair<std::string, std::string>("X-Why", "b")));
  EXPECT_EQ(file.rules[2].denial->status, 503);
  EXPECT_FALSE(file.rules[2].denial->body);
  EXPECT_FALSE(OnlyRule("version: 1").denial);
}

TEST(ReaderTest, StrictNeverLeases) {
  const std::string_view text = R"(
defaults: { consistency: leased }
rules: [{ id: a, limit: 10/s }, { id: b, limit: 10/s, priority: strict }]
)";
  const RuleFile file = ReadOk(text);
  EXPECT_EQ(file.rules[0].consistency, Consistency::kLeased);
  EXPECT_EQ(file.rules[1].consistency, Consistency::kExact);
}

TEST(ReaderTest, KeysHaveTiers) {
  const RuleFile file = ReadOk(R"(
rules: []
default_tier: free
keys: { "sk_prod_*": pro, sk_1: enterprise }
known_keys: ["sk_*", pk_1]
endpoints: ["/v1/orders/{id}", "/files/*"]
default: deny
)");
  ASSERT_THAT(file.keys, SizeIs(2));
  EXPECT_EQ(file.keys[0].key.kind, PatternKind::kGlob);
  EXPECT_EQ(file.keys[0].tier, "pro");
  EXPECT_EQ(file.keys[1].key.kind, PatternKind::kExact);
  EXPECT_EQ(file.keys[1].key.position, (config_text::Position{4, 27}));
  EXPECT_THAT(Texts(file.known_keys), ElementsAre("glob sk_*", "exact pk_1"));
  EXPECT_THAT(file.endpoints, ElementsAre("/v1/orders/{id}", "/files/*"));
  EXPECT_EQ(file.default_tier, "free");
  EXPECT_EQ(file.otherwise, DefaultAction::kDeny);
  const RuleFile list = ReadOk("rules: []\nkeys: [{ key: 'sk_*', tier: pro }]");
  ASSERT_THAT(list.keys, SizeIs(1));
  EXPECT_EQ(list.keys[0].tier, "pro");
}

TEST(ReaderTest, AliasesAndMergedFieldsMakeRulesShort) {
  const RuleFile file = ReadOk(R"(
x-shared: &shared
  algorithm: sliding_window_counter
  limit: 100
  window: 60
rules:
  - { <<: *shared, id: a }
  - { <<: *shared, id: b, limit: 5 }
)");
  EXPECT_EQ(Words(file.rules[0].variants.usual[0].limit),
            "sliding_window_counter 100, 60000000 µs");
  EXPECT_EQ(Words(file.rules[1].variants.usual[0].limit), "sliding_window_counter 5, 60000000 µs");
}

TEST(ReaderTest, FieldsThatBeginWithXAreForNotes) {
  EXPECT_EQ(OnlyRule("x-owner: payments team").id, "a");
}

TEST(ReaderTest, ErrorsComeInTheOrderOfTheFile) {
  const ReadResult result =
      Read("r.yaml", "deny: [10.0.0.1/8]\nrules:\n  - { id: a, limit: x }\nq: 1\n");
  ASSERT_THAT(result.errors, SizeIs(3));
  EXPECT_EQ(result.errors[0].position, (config_text::Position{1, 8}));
  EXPECT_EQ(result.errors[1].position, (config_text::Position{3, 21}));
  EXPECT_EQ(result.errors[2].position, (config_text::Position{4, 1}));
  EXPECT_EQ(result.errors[1].field, "rules[0].limit");
  EXPECT_EQ(result.errors[0].file, "r.yaml");
}

TEST(ReaderTest, AnErrorInSharedPartsIsReportedOnce) {
  EXPECT_EQ(Complaints(R"(
tiers: { a: { burst_multiplier: 0.5 }, b: {} }
rules: [{ id: x, limit: 1/s, override: { k: 5/s, l: 6/s } }]
)"),
            "2:33: tiers.a.burst_multiplier: must be between 1 and 1000000, found 0.5\n");
}

TEST(ReaderTest, AMessageIsOneLineWhateverTheFileSays) {
  EXPECT_EQ(Complaints(R"(rules: [{id: a, limit: "a\nb\e[31m", "x\ny": 1}])"),
            "1:24: rules[0].limit: expected a whole number, or a rate such as `100 per minute` or "
            "`30/s`, found `a b [31m`\n"
            "1:38: rules[0][\"x y\"]: unknown field; docs/rules.md has the fields of a rule\n");
}

TEST(ReaderTest, ProbableMistakesAreWarnings) {
  EXPECT_EQ(Complaints("rules: []\ndeny: ['*', 0.0.0.0/0]\n"),
            "warning: 2:7: deny: `*` denies every call that has an API key\n"
            "warning: 2:7: deny: `0.0.0.0/0` denies every call that has such an address\n");
  EXPECT_EQ(Complaints("tiers: { a: { limits: { tpm: 5/s } } }\nrules: []\n"),
            "warning: 1:30: tiers.a.limits.tpm: no rule has a limit of this name\n");
}

TEST(ReaderTest, AFinalRuleShadowsOnlyWhatItCertainlyMatches) {
  const auto second = [](const std::string& first, const std::string& fields) {
    return Complaints("rules:\n- {id: a, limit: 1/s, final: true, " + first +
                      "}\n- {id: b, limit: 1/s, " + fields + "}\n");
  };
  constexpr const char* kNever =
      "3:3: rules[1]: can never match: the rule `a` on line 2 comes first, is final, and "
      "matches all of its calls\n";
  EXPECT_EQ(second("per: []", "version: 1"), kNever);
  EXPECT_EQ(second("version: 1", "per: []"), "");  // A call may have neither key nor address.
  EXPECT_EQ(second("version: 1", "per: [user], match: {ip: 10.0.0.1}"), kNever);
  EXPECT_EQ(second("per: [user]", "per: [user, model]"), kNever);
  EXPECT_EQ(second("per: [user]", "per: [model]"), "");
  EXPECT_EQ(second("match: {user: '*'}", "match: {user_regex: '^a'}"), kNever);
  EXPECT_EQ(second("match: {user: {present: true}}", "match: {user: a}"), kNever);
  EXPECT_EQ(second("match: {user: a}", "match: {user: {present: true}}"), "");
  EXPECT_EQ(second("match: {user: {absent: true}}", "match: {user: {absent: true}, model: x}"),
            kNever);
  EXPECT_EQ(second("match: {user: {absent: true}}", "match: {user: a}"), "");
  EXPECT_EQ(second("match: {user_regex: '^a'}", "match: {user_regex: '^a', model: x}"), kNever);
  EXPECT_EQ(second("match: {user_regex: '^a'}", "match: {user: abc}"), "");  // Not evident.
  EXPECT_EQ(second("match: {user: 'a*c'}", "match: {user: abc}"), "");       // Nor looked for.
  EXPECT_EQ(second("match: {ip: 10.0.0.0/8}", "match: {ip: [10.1.0.0/16, 10.2.0.1]}"), kNever);
  EXPECT_EQ(second("match: {ip: 10.0.0.0/8}", "match: {ip: [10.1.0.0/16, 11.2.0.1]}"), "");
  EXPECT_EQ(second("match: {method: GET}", "match: {methods: [get]}"), "");  // Nor this.
  EXPECT_EQ(second("tier: pro", "tier: pro, match: {model: x}"), kNever);
  EXPECT_EQ(second("tier: pro", "tier: free"), "");
  // Also for keys whose tier is not known, for which the first rule is not.
  EXPECT_EQ(second("tier: pro", "tier: pro, match: {api_key: x}"), "");
  EXPECT_EQ(second("enabled: false", "version: 1"), "");
}

TEST(ReaderTest, AnUnreadableFileIsAnError) {
  const ReadResult result = ReadFile("/nowhere/rules.yaml");
  ASSERT_THAT(result.errors, SizeIs(1));
  EXPECT_EQ(Describe(result.errors[0]),
            "/nowhere/rules.yaml: can't be read: No such file or directory");
  EXPECT_THAT(Describe(ReadFile("/").errors.at(0)), HasSubstr("/: can't be read: "));
}

TEST(ReaderTest, AHugeFileIsRefusedUnread) {
  const std::string text(kMaxFileBytes + 1, ' ');
  const ReadResult result = Read("f", text);
  ASSERT_THAT(result.errors, SizeIs(1));
  EXPECT_EQ(result.errors[0].message, "is larger than the 67108864 bytes that are read");
}

TEST(ReaderTest, TenThousandRulesLoad) {
  std::string text = "rules:\n";
  for (int i = 0; i < 10'000; ++i) {
    const std::string n = std::to_string(i);
    text += "  - { id: r" + n + ", match: { api_key_pattern: 'sk_" + n +
            "_*', endpoint_regex: '^/v" + n + "/.*' }, limit: 10/s, final: true, override: { sk_" +
            n + "_vip: 20/s } }\n";
  }
  EXPECT_THAT(ReadOk(text).rules, SizeIs(10'000));
}

TEST(ReaderTest, MoreLimitsThanACallCanMatchAreAnError) {
  std::string rules = "rules:\n";
  const auto add = [&rules](const std::string& rest) {
    const auto count = std::count(rules.begin(), rules.end(), '\n');
    rules += "  - { id: r" + std::to_string(count) + ", limit: 1/s" + rest + " }\n";
  };
  for (int i = 0; i < 128; ++i) add("");
  add(", match: { endpoint: /a }");
  add(", enabled: false");
  EXPECT_EQ(Complaints(rules), "");
  add("");
  EXPECT_THAT(Complaints(rules), HasSubstr("a call matches 129 limits; at most 128 can match"));
}

TEST(ReaderTest, RegularExpressionsAreBoundedTogether) {
  std::string text = "rules:\n";
  for (int i = 0; i < 20'000; ++i) {
    const std::string id = std::to_string(i);
    text += "- {id: r" + id + ", match: {endpoint: {regex: '^/" + id +
            "(x{1,900}|y{1,900})$'}}, limit: 5/s}\n";
  }
  const ReadResult result = Read("rules.yaml", text);
  ASSERT_FALSE(result.file);
  EXPECT_THAT(result.errors.front().message,
              ::testing::HasSubstr("the regular expressions before it are too large together"));
}

}  // namespace
}  // namespace sluice::rules
