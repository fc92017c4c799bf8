#include "envoy/reader.h"

#include <gtest/gtest.h>

#include "envoy/testing/read.h"
#include "rules/testing/read.h"

namespace sluice::envoy {
namespace {

using rules::testing::Words;
using testing::Complaints;
using testing::Met;
using testing::ReadOk;

TEST(Reader, ReadsEveryFieldOfTheOriginal) {
  const auto config = ReadOk(R"(
---
domain: everything
descriptors:
  - key: k
    value: "v*"
    shadow_mode: true
    quota_mode: yes
    detailed_metric: true
    value_to_metric: false
    share_threshold: true
    metadata: { name: service_1, weight: 2 }
    rate_limit:
      name: mine
      replaces: [{ name: theirs }, { name: others }]
      unit: MINUTE
      requests_per_unit: 4294967295
    descriptors:
      - key: inner
        rate_limit: { unlimited: true, name: free }
      - key: nothing
)");
  ASSERT_EQ(config->nodes().size(), 2U);
  const Node& node = *config->nodes()[0];
  EXPECT_EQ(node.rule.id, "everything.k_v*");
  EXPECT_EQ(node.rule.position.line, 5);
  EXPECT_EQ(node.file, "a.yaml");
  EXPECT_TRUE(node.rule.shadow);
  EXPECT_TRUE(node.quota_mode);
  EXPECT_FALSE(node.count_denied);
  EXPECT_FALSE(node.unlimited);
  EXPECT_EQ(node.name, "mine");
  EXPECT_EQ(node.replaces, (std::vector<std::string>{"theirs", "others"}));
  EXPECT_EQ(node.unit, Unit::kMinute);
  EXPECT_EQ(node.requests_per_unit, 4294967295U);
  EXPECT_EQ(Words(node.limit().limit), "fixed_window 4294967295, 60000000 µs");
  EXPECT_EQ(node.rule.consistency, rules::Consistency::kExact);
  EXPECT_EQ(node.rule.on_store_failure, rules::OnStoreFailure::kOpen);
  EXPECT_FALSE(node.metadata.empty());
  const Node& inner = *config->nodes()[1];
  EXPECT_TRUE(inner.unlimited);
  EXPECT_EQ(inner.name, "free");
  EXPECT_TRUE(inner.metadata.empty());
}

TEST(Reader, ScalarsKeepTheirSourceText) {
  const auto config = ReadOk(R"(
domain: 7
descriptors:
  - { key: 1, value: 2.50, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: true, value: no, rate_limit: { unit: second, requests_per_unit: 2 } }
  - { key: k, value: "", rate_limit: { unit: second, requests_per_unit: 3 } }
  - { key: l, value: ~, rate_limit: { unit: second, requests_per_unit: 4 } }
)");
  EXPECT_EQ(Met(*config, "7", {{"1", "2.50"}}).substr(0, 10), "7.1_2.50 1");
  EXPECT_EQ(Met(*config, "7", {{"true", "no"}}).substr(0, 11), "7.true_no 2");
  EXPECT_EQ(Met(*config, "7", {{"k", "x"}}).substr(0, 5), "7.k 3");
  EXPECT_EQ(Met(*config, "7", {{"l", "x"}}).substr(0, 5), "7.l 4");
}

TEST(Reader, ReportsAllErrorsWithTheirPositions) {
  EXPECT_EQ(Complaints(R"(domain: d
descriptors:
  - value: v
  - key: a
    ratelimit: { unit: second }
  - key: b
    rate_limit: { unit: fortnight, requests_per_unit: 1 }
  - key: b
  - key: c
    rate_limit: { unit: day, requests_per_unit: -1 }
  - key: e
    rate_limit: { requests_per_unit: 1 }
  - key: f
    rate_limit: { unit: day, requests_per_unit: 4294967296 }
  - key: g
    rate_limit: { unit: day, requests_per_unit: many }
  - key: h
    share_threshold: true
    rate_limit: { unlimited: true, unit: day }
  - key: i
    rate_limit: { unit: day, requests_per_unit: 1, name: x, replaces: [{ name: x }, { name: "" }, y] }
  - text
  - key: j
    shadow_mode: perhaps
    value: [1]
    descriptors: { key: k }
)"),
            R"(3:5: descriptors[0]: needs a `key`
5:5: descriptors[1].ratelimit: unknown field; did you mean `rate_limit`?
7:25: descriptors[2].rate_limit.unit: expected second, minute, hour, day, week, month or year, found `fortnight`
8:5: descriptors[3]: `b` stands here twice; first on line 6
10:49: descriptors[4].rate_limit.requests_per_unit: must be between 0 and 4294967295, found -1
12:17: descriptors[5].rate_limit: needs a `unit`: second, minute, hour, day, week, month or year
14:49: descriptors[6].rate_limit.requests_per_unit: must be between 0 and 4294967295, found 4294967296
16:49: descriptors[7].rate_limit.requests_per_unit: expected a whole number, found `many`
18:22: descriptors[8].share_threshold: is for values with a `*`: others have one counter anyway, and keys without a value one for each
19:36: descriptors[8].rate_limit.unit: is of no use beside `unlimited: true`; leave it out
21:80: descriptors[9].rate_limit.replaces[0].name: a limit can't replace itself: `x` is its own name
21:85: descriptors[9].rate_limit.replaces[1]: needs the `name` of a limit
21:99: descriptors[9].rate_limit.replaces[2]: expected the fields of `replaces`, found `y`
22:5: descriptors[10]: expected the fields of a descriptor, found `text`
24:18: descriptors[11].shadow_mode: expected true or false, found `perhaps`
25:12: descriptors[11].value: expected a value, found a list
26:18: descriptors[11].descriptors: expected a list of descriptors, found a mapping
)");
}

TEST(Reader, RejectsInvalidConfigurations) {
  EXPECT_EQ(Complaints(""), "is empty; expected a `domain`\n");
  EXPECT_EQ(Complaints("descriptors: []"), "1:1: needs a `domain`\n");
  EXPECT_EQ(Complaints("domain: ''"),
            "1:9: domain: expected the name of a domain, found an empty text\n");
  EXPECT_EQ(Complaints("[1]"), "1:1: expected the fields of the file, found a list\n");
  EXPECT_EQ(Complaints("domain: d\n0.25: x"),
            "2:1: [\"0.25\"]: unknown field; docs/envoy.md has the fields of the file\n");
  EXPECT_NE(Complaints("domain: [d\n"), "");
  EXPECT_EQ(Complaints("domain: d\ndomain: e"),
            "2:1: domain: stands here twice; first on line 1\n");
}

TEST(Reader, WarnsOfFieldsThatTheOriginalIgnores) {
  EXPECT_EQ(
      Complaints(R"(domain: d
unit: second
descriptors:
  - key: a
    requests_per_unit: 7
    rate_limit: { unit: day, shadow_mode: true }
)"),
      R"(2:7: unit: means nothing here, and is left aside; it belongs to `rate_limit` (warning)
5:24: descriptors[0].requests_per_unit: means nothing here, and is left aside; it belongs to `rate_limit` (warning)
6:17: descriptors[0].rate_limit: has no `requests_per_unit`, which is as good as 0: every call is denied (warning)
6:43: descriptors[0].rate_limit.shadow_mode: means nothing here, and is left aside; it belongs to a descriptor (warning)
)");
}

TEST(Reader, ADomainMustBeInOneFileUnlessDomainsAreMerged) {
  const FileContent one{.path = "1.yaml",
                        .content = "domain: d\ndescriptors: [{ key: a }, { key: b }]"};
  const FileContent two{.path = "2.yaml",
                        .content = "domain: d\ndescriptors:\n- { key: b }\n- { key: c }"};
  EXPECT_EQ(Complaints({one, two}),
            "2.yaml:1:9: domain: the domain `d` is that of 1.yaml, line 1; "
            "`envoy.merge_domains` lets several files describe one\n");
  EXPECT_EQ(Complaints({one, two}, {.merge_domains = true, .prepare = {}}),
            "2.yaml:3:3: descriptors[0]: `b` stands here twice; first on line 2 of 1.yaml\n");
  const FileContent three{
      .path = "3.yaml",
      .content = "domain: d\ndescriptors: [{ key: c, rate_limit: { unlimited: true } }]"};
  const FileContent files[] = {one, three};
  const ReadResult read = Read(files, {.merge_domains = true, .prepare = {}});
  ASSERT_TRUE(read.config);
  EXPECT_EQ(read.config->domains().size(), 1U);
  EXPECT_EQ(read.config->nodes()[0]->file, "3.yaml");
}

TEST(Reader, SeveralDomainsAreIndependent) {
  const FileContent files[] = {{.path = "z.yaml", .content = "domain: z"},
                               {.path = "a.yaml", .content = "domain: a"}};
  const ReadResult read = Read(files);
  ASSERT_TRUE(read.config);
  EXPECT_EQ(read.config->domains().front()->name(), "a");
  EXPECT_NE(read.config->FindDomain("z"), nullptr);
  EXPECT_EQ(read.config->FindDomain("b"), nullptr);
}

TEST(Reader, HasOtherAlgorithmsAndWindows) {
  const auto config = ReadOk(R"(
domain: d
algorithm: sliding_window_counter
consistency: leased
on_store_failure: closed
when_full: closed
count_denied: true
descriptors:
  - { key: a, rate_limit: { unit: minute, unit_multiplier: 5, requests_per_unit: 20 } }
  - { key: b, rate_limit: { window: 30s, requests_per_unit: 20, algorithm: fixed_window } }
  - { key: c, rate_limit: { window: 3600, requests_per_unit: 7, algorithm: token_bucket, burst: 50 } }
  - { key: e, rate_limit: { unit: second, requests_per_unit: 7, algorithm: leaky_bucket } }
  - { key: f, rate_limit: { unit: second, requests_per_unit: 7, algorithm: sliding_window } }
  - key: g
    consistency: exact
    on_store_failure: local
    when_full: open
    count_denied: false
    rate_limit: { unit: year, requests_per_unit: 1, algorithm: fixed_window }
)");
  const auto node = [&](std::size_t i) -> const Node& { return *config->nodes()[i]; };
  EXPECT_EQ(Words(node(0).limit().limit), "sliding_window_counter 20, 300000000 µs");
  EXPECT_EQ(node(0).unit, Unit::kUnknown) << "20 in 5 minutes are not 20 per minute";
  EXPECT_FALSE(node(0).count_denied) << "the file's is for fixed windows";
  EXPECT_EQ(Words(node(1).limit().limit), "fixed_window 20, 30000000 µs");
  EXPECT_TRUE(node(1).count_denied);
  EXPECT_EQ(node(1).rule.consistency, rules::Consistency::kLeased);
  EXPECT_EQ(node(1).rule.on_store_failure, rules::OnStoreFailure::kClosed);
  EXPECT_EQ(node(1).rule.when_full, rules::WhenFull::kClosed);
  EXPECT_EQ(node(2).limit().limit,
            *Limit::TokenBucket({.capacity = 50, .refill = Rate::PerHour(7)}));
  EXPECT_EQ(node(2).unit, Unit::kHour);
  EXPECT_EQ(node(3).limit().limit,
            *Limit::LeakyBucket({.capacity = 7, .leak = Rate::PerSecond(7)}));
  EXPECT_EQ(node(4).limit().limit.algorithm(), Algorithm::kSlidingWindowLog);
  EXPECT_EQ(node(5).rule.consistency, rules::Consistency::kExact);
  EXPECT_EQ(node(5).rule.on_store_failure, rules::OnStoreFailure::kLocal);
  EXPECT_EQ(node(5).rule.when_full, rules::WhenFull::kOpen);
  EXPECT_FALSE(node(5).count_denied);
}

TEST(Reader, RejectsInvalidNumbers) {
  EXPECT_EQ(
      Complaints(R"(domain: d
descriptors:
  - { key: a, rate_limit: { unit: minute, window: 30s, requests_per_unit: 20 } }
  - { key: b, rate_limit: { unit_multiplier: 3, requests_per_unit: 20 } }
  - { key: c, rate_limit: { unit: day, unit_multiplier: 0, requests_per_unit: 20 } }
  - { key: e, rate_limit: { window: soon, requests_per_unit: 20 } }
  - { key: f, rate_limit: { unit: day, requests_per_unit: 20, burst: 5 } }
  - { key: g, rate_limit: { unit: day, requests_per_unit: 20, algorithm: concurrency } }
  - { key: h, rate_limit: { unit: day, requests_per_unit: 2_000_000, algorithm: sliding_window_log } }
  - { key: i, rate_limit: { unit: year, unit_multiplier: 101, requests_per_unit: 1 } }
  - { key: ii, rate_limit: { window: 0s, requests_per_unit: 1 } }
  - { key: j, count_denied: true, rate_limit: { unit: day, requests_per_unit: 1, algorithm: token_bucket } }
)"),
      R"(3:43: descriptors[0].rate_limit.window: repeats `unit` on line 3; leave one of them out
4:29: descriptors[1].rate_limit.unit_multiplier: needs a `unit`
5:57: descriptors[2].rate_limit.unit_multiplier: must be between 1 and 36500, found 0
6:37: descriptors[3].rate_limit.window: expected a duration such as 30s, found `soon`
7:63: descriptors[4].rate_limit.burst: is of no use to fixed_window; token_bucket and leaky_bucket have bursts
8:74: descriptors[5].rate_limit.algorithm: expected token_bucket, leaky_bucket, fixed_window, sliding_window_log, sliding_window_counter or sliding_window, found `concurrency`
9:59: descriptors[6].rate_limit.requests_per_unit: limit must be between 1 and 1000000, found 2000000
10:58: descriptors[7].rate_limit.unit_multiplier: must be between 1 and 100, found 101
11:38: descriptors[8].rate_limit.window: window must be between 1 µs and 100 years (3153600000000000 µs), found 0 µs
12:15: descriptors[9].count_denied: is for fixed windows only
)");
}

TEST(Reader, PreparesEachRuleBeforeItIsUsed) {
  const FileContent file{
      .path = "a.yaml",
      .content = "domain: d\ndescriptors: [{ key: a, rate_limit: { unlimited: true } }]"};
  const ReadResult read = Read(
      {&file, 1}, {.merge_domains = false,
                   .prepare = [](rules::Rule& rule) { rule.variants.usual.front().number = 42; }});
  EXPECT_EQ(read.config->nodes()[0]->limit().number, 42U);
}

TEST(Reader, MetadataIsAStruct) {
  const auto config = ReadOk(R"(
domain: d
descriptors:
  - key: a
    metadata: { s: x, n: 2, f: yes, z: ~, l: [1], o: { q: "2" } }
    rate_limit: { unlimited: true }
)");
  using namespace std::string_literals;
  const std::string number_1("\x11\0\0\0\0\0\0\xF0\x3F", 9);
  const std::string number_2("\x11\0\0\0\0\0\0\0\x40", 9);
  const auto entry = [](const std::string& key, const std::string& value) {
    const std::string inner = "\x0A"s + static_cast<char>(key.size()) + key + "\x12" +
                              static_cast<char>(value.size()) + value;
    return "\x0A"s + static_cast<char>(inner.size()) + inner;
  };
  const std::string list = "\x0A\x09" + number_1;
  const std::string object = entry("q",
                                   "\x1A\x01"
                                   "2");
  EXPECT_EQ(config->nodes()[0]->metadata,
            entry("s", "\x1A\x01x") + entry("n", number_2) + entry("f", "\x20\x01") +
                entry("z", "\x08\0"s) +
                entry("l", "\x32" + std::string(1, static_cast<char>(list.size())) + list) +
                entry("o", "\x2A" + std::string(1, static_cast<char>(object.size())) + object));
}

TEST(Reader, RefusesMetadataThatIsTooMuch) {
  EXPECT_EQ(Complaints("domain: d\ndescriptors: [{ key: a, metadata: [x] }]"),
            "2:35: descriptors[0].metadata: expected a mapping of your own, found a list\n");
  std::string deep = "domain: d\nx-a: &a { k: v, l: w, m: u, n: t }\n";
  char name = 'a';
  for (int i = 0; i < 6; ++i, ++name) {
    const std::string alias = std::string("*") + name;
    deep += std::string("x-") + static_cast<char>(name + 1) + ": &" + static_cast<char>(name + 1) +
            " [" + alias + ", " + alias + ", " + alias + ", " + alias + ", " + alias + "]\n";
  }
  deep += std::string("descriptors: [{ key: a, metadata: { all: *") + name + " } }]";
  EXPECT_NE(Complaints(deep).find("is more than the 16384 bytes that an answer may bring with it"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::envoy
