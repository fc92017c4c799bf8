#include "rules/rejects_all.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "rules/testing/read.h"

namespace sluice::rules {
namespace {

constexpr WallTime kToday{std::chrono::sys_days{std::chrono::year{2026} / 6 / 1}};

std::string Reason(const char* yaml) {
  return FindRejectAll(testing::ReadOk(yaml), kToday).value_or("admits calls");
}

TEST(FindRejectAllTest, FindsRulesThatRejectEveryCall) {
  EXPECT_EQ(Reason("rules: [{id: a, reject_all: true}]"),
            "the rule `a` matches every call and rejects it");
  EXPECT_EQ(Reason("rules: [{id: a, reject_all: true, per: [ip]}]"),
            "the rule `a` matches every call and rejects it");
  EXPECT_EQ(Reason("rules: [{id: b, limit: 1/s}, {id: a, reject_all: true, per: []}]"),
            "the rule `a` matches every call and rejects it");
  EXPECT_EQ(Reason("rules: [{id: a, reject_all: true,"
                   " rollout: {percent: 10, from: {reject_all: true}}}]"),
            "the rule `a` matches every call and rejects it");
  EXPECT_EQ(Reason("default: deny\nrules: []"),
            "`default` is `deny`, and no enabled rule admits a call");
  EXPECT_EQ(Reason("default: deny\nrules: [{id: a, limit: 1/s, enabled: false}]"),
            "`default` is `deny`, and no enabled rule admits a call");
  EXPECT_EQ(Reason("default: deny\nrules: [{id: a, match: {user: x}, reject_all: true}]"),
            "`default` is `deny`, and no enabled rule admits a call");
  EXPECT_EQ(Reason("rules: [{id: a, reject_all: true, expires_at: 2026-06-02T00:00:00Z}]"),
            "the rule `a` matches every call and rejects it");
  EXPECT_EQ(Reason("rules: [{id: a, limits: [{reject_all: true, starts_at: "
                   "2026-12-01T00:00:00Z}, 1/s]}]"),
            "the rule `a` matches every call and rejects it");
  EXPECT_EQ(Reason("rules: []\ndeny: [0.0.0.0/0, \"::/0\"]"), "`deny` contains every address");
}

TEST(FindRejectAllTest, ReportsNothingThatIsNotCertain) {
  for (const char* yaml : {
           "rules: []",
           "rules: [{id: a, limit: 1/s}]",
           "rules: [{id: a, reject_all: true, shadow: true}]",
           "rules: [{id: a, reject_all: true, enabled: false}]",
           "rules: [{id: a, reject_all: true, match: {user: x}}]",
           "rules: [{id: a, reject_all: true, per: [user]}]",
           "rules: [{id: a, reject_all: true, override: {k: 1/s}}]",
           "rules: [{id: a, reject_all: true}]\nallow: [k]",
           "rules: [{id: b, match: {user: x}, limit: 1/s, final: true}, {id: a, reject_all: true}]",
           "default: deny\nrules: [{id: a, limit: 1/s}]",
           "rules: [{id: a, reject_all: true, expires_at: 2026-05-02T00:00:00Z}]",
           "rules: []\ndeny: [0.0.0.0/0]",
           "rules: [{id: a, reject_all: true, rollout: {percent: 10}}]",
           "rules: [{id: a, reject_all: true, rollout: {percent: 10, from: 1/s}}]",
           "rules: [{id: a, limits: [{reject_all: true, shadow: true}, 1/s]}]",
           "tiers: {t: 1/s, u: {reject_all: true}}\nrules: [{id: a}]",
       }) {
    EXPECT_EQ(Reason(yaml), "admits calls") << yaml;
  }
}

}  // namespace
}  // namespace sluice::rules
