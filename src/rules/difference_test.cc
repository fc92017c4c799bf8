#include "rules/difference.h"

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "rules/testing/random_document.h"
#include "rules/testing/read.h"

namespace sluice::rules {
namespace {

using testing::ReadOk;

std::string Rows(std::string_view before, std::string_view after) {
  std::string text;
  for (const DifferenceRow& row : Compare(ReadOk(before), ReadOk(after))) {
    text += row.rule + " " + row.field + ": " + row.from + " -> " + row.to + " " +
            std::string(NameOf(row.effect)) + "\n";
  }
  return text;
}

TEST(CompareTest, DistinguishesTighterFromLooserLimits) {
  const auto effect = [](const std::string& before, const std::string& after) {
    const auto rows = Compare(ReadOk("rules:\n  - { id: a, " + before + " }\n"),
                              ReadOk("rules:\n  - { id: a, " + after + " }\n"));
    return rows.size() == 1 ? std::string(NameOf(rows[0].effect))
                            : std::to_string(rows.size()) + " rows";
  };
  EXPECT_EQ(effect("limit: 100 per minute", "limit: 50 per minute"), "tightens");
  EXPECT_EQ(effect("limit: 100 per minute", "limit: 100 per second"), "loosens");
  EXPECT_EQ(effect("limit: 1 per second", "limit: 60 per minute"), "loosens");  // A larger burst.
  EXPECT_EQ(effect("limit: 10 per second", "limit: 60 per minute"), "changes");
  EXPECT_EQ(effect("limit: 10/s", "limit: 10/s, burst_allowance: 5"), "loosens");
  EXPECT_EQ(effect("limit: 10/s", "reject_all: true"), "tightens");
  EXPECT_EQ(effect("reject_all: true", "limit: 10/s"), "loosens");
  EXPECT_EQ(effect("limit: 10/s", "limit: 10/s, algorithm: leaky_bucket"), "changes");
  EXPECT_EQ(effect("limit: 10, window: 60, algorithm: fixed_window",
                   "limit: 10, window: 30, algorithm: fixed_window"),
            "loosens");
  EXPECT_EQ(effect("limit: 10, window: 60, algorithm: fixed_window",
                   "limit: 20, window: 90, algorithm: fixed_window"),
            "changes");
  EXPECT_EQ(effect("limit: 8, algorithm: concurrency", "limit: 7, algorithm: concurrency"),
            "tightens");
  EXPECT_EQ(effect("limit: 10/s, cost: 1", "limit: 10/s, cost: 2"), "tightens");
  EXPECT_EQ(effect("limit: 10/s", "limit: 10/s, max_cost: 2"), "tightens");
  EXPECT_EQ(effect("limit: 10/s, max_cost: 3", "limit: 10/s"), "loosens");
  EXPECT_EQ(effect("limit: 10/s", "limit: 10/s, shadow: true"), "loosens");
  EXPECT_EQ(effect("limit: 10/s", "limit: 10/s, enabled: false"), "loosens");
  EXPECT_EQ(effect("limit: 10/s", "limit: 10/s, match: { user: x }"), "changes");
}

TEST(CompareTest, NamesSchedulesRolloutsAndShadowLimits) {
  EXPECT_EQ(Rows("rules: [{id: a, limits: {x: 1/s, y: 2/m}, starts_at: 2026-12-01T00:00:00Z}]", R"(
rules:
  - id: a
    limits: {x: 1/s, y: {limit: 2/m, shadow: true, expires_at: 2026-12-03T00:00:00Z}}
    starts_at: 2026-12-02T00:00:00Z
    per: [user]
    rollout: {percent: 2.5, from: {limits: {y: 4/m}}}
)"),
            "a per: client -> [user] changes\n"
            "a starts_at: 2026-12-01T00:00:00Z -> 2026-12-02T00:00:00Z changes\n"
            "a rollout.percent:  -> 2.5 % changes\n"
            "a rollout.by:  -> user changes\n"
            "a rollout.from:  -> y: 4 at once, then 4 per minute new\n"
            "a limits.y.shadow: false -> true loosens\n"
            "a limits.y.expires_at:  -> 2026-12-03T00:00:00Z changes\n");
  EXPECT_EQ(Rows("rules: [{id: a, limit: 1/s, rollout: {percent: 10, from: 4/s}}]",
                 "rules: [{id: a, limit: 1/s, rollout: {percent: 12.05, from: 3/s}}]"),
            "a rollout.percent: 10 % -> 12.05 % changes\n"
            "a rollout.from.limits.requests: 4 at once, then 4 per second -> 3 at once, then 3 per "
            "second tightens\n");
}

TEST(CompareTest, NamesRulesFieldsTiersOverridesAndLists) {
  EXPECT_EQ(Rows(R"(
tiers: { free: 10/s, pro: 20/s }
rules:
  - { id: a }
  - { id: b, limit: 5/s, override: { k1: 6/s, k2: 7/s } }
  - { id: c, limit: 1/s }
deny: [x, y]
allow: [z]
)",
                 R"(
tiers: { free: 10/s, pro: 30/s, big: 50/s }
rules:
  - { id: d, limit: 1/s }
  - { id: b, limit: 5/s, override: { k1: 5/s, k3: 7/s } }
  - { id: a }
deny: [y, w]
default: deny
)"),
            " default: allow -> deny tightens\n"
            " tiers:  -> big new\n"
            " deny:  -> w tightens\n"
            " deny: x ->  loosens\n"
            " allow: z ->  tightens\n"
            " order: [a, b] -> [b, a] changes\n"
            "d rule:  -> requests: 1 at once, then 1 per second new\n"
            "b override[k1].limits.requests: 6 at once, then 6 per second -> 5 at once, then 5 per "
            "second tightens\n"
            "b override[k3]:  -> requests: 7 at once, then 7 per second new\n"
            "b override[k2]: requests: 7 at once, then 7 per second ->  gone\n"
            "a limits.requests[tier big]:  -> 50 at once, then 50 per second new\n"
            "a limits.requests[tier pro]: 20 at once, then 20 per second -> 30 at once, then 30 "
            "per second loosens\n"
            "c rule: requests: 1 at once, then 1 per second ->  gone\n");
}

TEST(CompareTest, BoundsTheRowsOfAList) {
  std::string keys;
  for (int i = 0; i < 1000; ++i) keys += (i > 0 ? ", k" : "k") + std::to_string(i);
  const auto rows = Compare(ReadOk("rules: []\n"), ReadOk("rules: []\ndeny: [" + keys + "]\n"));
  ASSERT_EQ(rows.size(), 101U);
  EXPECT_EQ(rows.back().to, "900 more");
}

bool ByText(const DifferenceRow& a, const DifferenceRow& b) {
  return std::tie(a.rule, a.field, a.from, a.to) < std::tie(b.rule, b.field, b.from, b.to);
}

TEST(CompareTest, SwappedVersionsGiveOppositeEffects) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  testing::RandomDocument random(seed);
  for (int i = 0; i < 300; ++i) {
    const std::string one = random.Make();
    const std::string two = random.Make();
    const RuleFile before = ReadOk(one);
    const RuleFile after = ReadOk(two);
    EXPECT_TRUE(Compare(before, before).empty());
    std::vector<DifferenceRow> forward = Compare(before, after);
    EXPECT_EQ(forward, Compare(before, after));
    std::vector<DifferenceRow> backward = Compare(after, before);
    for (DifferenceRow& row : backward) {
      std::swap(row.from, row.to);
      if (row.effect < ChangeEffect::kChanges) {
        row.effect = static_cast<ChangeEffect>(static_cast<int>(row.effect) ^ 1);
      }
    }
    std::sort(forward.begin(), forward.end(), ByText);
    std::sort(backward.begin(), backward.end(), ByText);
    EXPECT_EQ(forward, backward) << one << "---\n" << two;
  }
}

}  // namespace
}  // namespace sluice::rules
