#include "own_rules.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "envoy/domain_tables.h"
#include "envoy/testing/random_config.h"
#include "envoy/testing/read.h"
#include "match/rule_set.h"
#include "rules/reader.h"

namespace sluice::app {
namespace {

using envoy::Config;
using envoy::Descriptor;
using envoy::DomainTables;
using envoy::Entry;
using envoy::Node;

using envoy::FoundKey;

using envoy::testing::AsEntries;
using envoy::testing::RandomConfig;
using envoy::testing::ReadOk;

std::shared_ptr<const match::RuleSet> Compiled(const OwnRules& own) {
  rules::ReadResult read = rules::Read("own.yaml", own.yaml);
  for (const config_text::Diagnostic& error : read.errors) ADD_FAILURE() << Describe(error);
  return read.file ? match::RuleSet::Compile(std::move(*read.file)) : nullptr;
}

std::string Remarks(const OwnRules& own) {
  std::string text;
  for (const config_text::Diagnostic& remark : own.remarks) text += Describe(remark) + "\n";
  return text;
}

TEST(OwnRules, MayBePerAnyKeyOfADescriptor) {
  const auto config = ReadOk(R"(domain: edge
descriptors:
  - key: path
    rate_limit: { unit: second, requests_per_unit: 10 }
  - key: users
    rate_limit: { unit: second, requests_per_unit: 10 }
)");
  const OwnRules own = WriteOwnRules(*config);
  EXPECT_EQ(Remarks(own), "");
  EXPECT_EQ(Compiled(own)->file().rules.size(), 2U);
}

TEST(OwnRules, SayTheSameInOurWords) {
  const auto config = ReadOk(R"(domain: edge
descriptors:
  - key: remote_address
    rate_limit: { unit: second, requests_per_unit: 10 }
  - key: remote_address
    value: 192.0.2.5
    rate_limit: { unit: second, requests_per_unit: 0 }
  - key: path
    value: "/a?/*"
    share_threshold: true
    shadow_mode: true
    on_store_failure: local
    rate_limit: { unit: day, requests_per_unit: 5, algorithm: token_bucket, burst: 50 }
)");
  const OwnRules own = WriteOwnRules(*config);
  EXPECT_EQ(own.yaml, R"(attributes: ["domain", "path", "remote_address"]
rules:
  - id: "edge.remote_address_192.0.2.5"
    match:
      "domain": { exact: ["edge"] }
      "remote_address": { exact: ["192.0.2.5"] }
      "path": { absent: true }
    per: []
    reject_all: true
    final: true
  - id: "edge.remote_address"
    match:
      "domain": { exact: ["edge"] }
      "remote_address": { present: true }
      "path": { absent: true }
    per: ["remote_address"]
    algorithm: fixed_window
    limit: 10
    window: 1s
    final: true
  - id: "edge.path_/a?/*"
    match:
      "domain": { exact: ["edge"] }
      "path": { glob: ["/a\\?/*"] }
      "remote_address": { absent: true }
    per: []
    algorithm: token_bucket
    capacity: 50
    refill_rate: 5 per 86400s
    shadow: true
    on_store_failure: local
    final: true
)");
  EXPECT_EQ(Remarks(own), "");
  EXPECT_TRUE(Compiled(own));
}

TEST(OwnRules, TellWhatTheyCantSay) {
  const auto config = ReadOk(R"(domain: d
descriptors:
  - key: a
    descriptors:
      - key: a
        rate_limit: { unlimited: true }
      - key: b
        quota_mode: true
        metadata: { x: y }
        rate_limit: { unit: day, requests_per_unit: 1, replaces: [{ name: n }] }
  - key: b
    descriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1 } }]
  - key: user_regex
    rate_limit: { unit: day, requests_per_unit: 1 }
  - { key: p, value: "x*", rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: p, value: "xx*", rate_limit: { unit: day, requests_per_unit: 2 } }
)");
  const OwnRules own = WriteOwnRules(*config);
  EXPECT_TRUE(Compiled(own));
  const std::string remarks = Remarks(own);
  for (const char* part :
       {"a.yaml:5:9: d.a.a: has a key twice", "a.yaml:7:9: d.a.b: `quota_mode` is left out",
        "a.yaml:7:9: d.a.b: `metadata` is left out", "a.yaml:7:9: d.a.b: `replaces` is left out",
        "d.b.a: has the keys of another descriptor in another order",
        "a.yaml:13:5: d.user_regex: has the key `user_regex`, which means something else",
        "a.yaml:16:5: d.p_xx*: left out; as a rule it can never match"}) {
    EXPECT_NE(remarks.find(part), std::string::npos) << part << " not in\n" << remarks;
  }
}

/// What the rules make of a request: the limit that counts, or nullptr if the call passes.
const match::MatchedLimit* Counted(const match::Match& match) {
  if (match.limits().size() != 1) {
    EXPECT_TRUE(match.limits().empty());
    return nullptr;
  }
  return match.limits()[0].rule->headers ? match.limits().data() : nullptr;
}

using Keys = std::vector<std::string>;

/// The keys of each way to a limit.
std::set<Keys> WaysToLimits(const DomainTables& tables) {
  std::set<Keys> ways;
  for (const Descriptor& descriptor : tables.descriptors()) {
    if (descriptor.node == nullptr) continue;
    Keys keys{descriptor.key};
    for (std::uint32_t id = descriptor.parent; id != DomainTables::kRoot;) {
      keys.insert(keys.begin(), tables.descriptors()[id - 1].key);
      id = tables.descriptors()[id - 1].parent;
    }
    ways.insert(keys);
  }
  return ways;
}

// Attributes have no order, none twice, and none that is empty.
bool IsExpressible(const RandomConfig::Request& request, const std::set<Keys>& ways) {
  Keys keys;
  for (const auto& [key, value] : request) {
    if (value.empty() || std::find(keys.begin(), keys.end(), key) != keys.end()) return false;
    keys.push_back(key);
  }
  return std::none_of(ways.begin(), ways.end(), [&](const Keys& way) {
    return way != keys && std::is_permutation(way.begin(), way.end(), keys.begin(), keys.end());
  });
}

void ExpectSame(const Config& config, const match::RuleSet& own,
                const RandomConfig::Request& request) {
  FoundKey key;
  const std::vector<Entry> entries = AsEntries(request);
  const Node* node = config.FindDomain("d")->Find(entries, key);
  if (node != nullptr && node->unlimited) node = nullptr;
  std::vector<Attribute> attributes{{"domain", "d"}};
  for (const Entry& entry : entries) attributes.push_back({entry.key, entry.value});
  match::Match match;
  own.Find(attributes, 1, WallTime{}, match);
  const match::MatchedLimit* met = Counted(match);
  ASSERT_EQ(met != nullptr, node != nullptr);
  if (node == nullptr) return;
  ASSERT_EQ(met->limit->reject_all, node->limit().reject_all);
  if (!node->limit().reject_all) {
    ASSERT_EQ(met->limit->limit, node->limit().limit);
  }
  ASSERT_EQ(met->key.rest, key.key().rest);
  if (!node->rule.per->empty()) {
    ASSERT_EQ(met->key.tag, key.key().tag);
  }
}

TEST(OwnRules, DecideAsTheConfigurationDoes) {
  const std::uint64_t seed = std::random_device()();
  RandomConfig random(seed);
  int limited = 0;
  for (int round = 0; round < 100; ++round) {
    const auto descriptors = random.Descriptors(3);
    const std::string yaml = AsYaml(descriptors);
    const auto config = ReadOk(yaml);
    ASSERT_TRUE(config);
    const OwnRules own = WriteOwnRules(*config);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + yaml + own.yaml + Remarks(own));
    const auto rules = Compiled(own);
    ASSERT_TRUE(rules);
    const std::set<Keys> ways = WaysToLimits(config->FindDomain("d")->tables());
    for (int i = 0; i < 200; ++i) {
      const auto request = random.RequestFor(descriptors);
      if (!IsExpressible(request, ways)) continue;
      SCOPED_TRACE(envoy::testing::Met(*config, "d", AsEntries(request)));
      ExpectSame(*config, *rules, request);
      if (::testing::Test::HasFatalFailure()) return;
      limited += envoy::testing::Met(*config, "d", AsEntries(request)) != "nothing" ? 1 : 0;
    }
  }
  EXPECT_GT(limited, 1000);
}

}  // namespace
}  // namespace sluice::app
