// `starts_at`, `expires_at` and `shadow` of rules and of single limits.

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "base/timestamp.h"
#include "rules/schedule_reader.h"
#include "rules/testing/read.h"

namespace sluice::rules {
namespace {

using testing::Complaints;
using testing::ReadOk;

WallTime Time(const char* text) { return *ParseTimestamp(text); }

TEST(ScheduleTest, ARuleWithoutTimesAppliesAlways) {
  const RuleFile file = ReadOk("rules: [{id: a, limit: 10/s}]");
  EXPECT_TRUE(file.rules[0].schedule.always());
  EXPECT_TRUE(file.rules[0].schedule.Contains(WallTime{}));
  EXPECT_TRUE(file.rules[0].variants.usual[0].schedule.always());
}

TEST(ScheduleTest, ARuleAppliesFromItsStartAndBeforeItsExpiry) {
  const RuleFile file = ReadOk(
      "rules: [{id: a, limit: 10/s, starts_at: 2026-12-01T00:00:00+01:00,"
      " expires_at: '2026-12-02T00:00:00Z'}]");
  const Schedule& schedule = file.rules[0].schedule;
  EXPECT_FALSE(schedule.always());
  EXPECT_FALSE(schedule.Contains(Time("2026-11-30T22:59:59.999999Z")));
  EXPECT_TRUE(schedule.Contains(Time("2026-11-30T23:00:00Z")));
  EXPECT_TRUE(schedule.Contains(Time("2026-12-01T23:59:59.999999Z")));
  EXPECT_FALSE(schedule.Contains(Time("2026-12-02T00:00:00Z")));
}

TEST(ScheduleTest, EachLimitMayHaveTimesAndBeInShadow) {
  const RuleFile file = ReadOk(R"(
rules:
  - id: a
    limits:
      now: 10/s
      later: {limit: 5/s, starts_at: 2026-12-01T00:00:00Z}
      trial: {limit: 1/s, shadow: true, expires_at: 2026-12-01T00:00:00Z}
    override: {sk_1: {limits: {trial: 2/s}}}
)");
  for (const LimitVariants* variants :
       {&file.rules[0].variants, &file.rules[0].overrides[0].variants}) {
    const Limits& limits = variants->usual;
    ASSERT_EQ(limits.size(), 3U);
    EXPECT_TRUE(limits[0].schedule.always());
    EXPECT_EQ(limits[1].schedule.starts_at, Time("2026-12-01T00:00:00Z"));
    EXPECT_EQ(limits[2].schedule.expires_at, Time("2026-12-01T00:00:00Z"));
    EXPECT_FALSE(IsShadow(file.rules[0], limits[1]));
    EXPECT_TRUE(IsShadow(file.rules[0], limits[2]));
  }
}

TEST(ScheduleTest, ExpiredRulesAndLimitsAreWarnedOf) {
  const RuleFile file = ReadOk(R"(
rules:
  - {id: old, limit: 1/s, expires_at: 2026-12-01T00:00:00Z}
  - {id: off, limit: 1/s, enabled: false, expires_at: 2026-12-01T00:00:00Z}
  - {id: valid, limit: 1/s, expires_at: 2026-12-03T00:00:00Z}
  - id: part
    limits: [{name: gone, limit: 1/s, expires_at: 2026-12-02T00:00:00Z}, 10/h]
)");
  EXPECT_TRUE(WarnOfExpired(file, Time("2026-11-30T00:00:00Z")).empty());
  std::string text;
  for (const auto& warning : WarnOfExpired(file, Time("2026-12-02T00:00:00Z"))) {
    text += Describe(warning) + "\n";
  }
  EXPECT_EQ(text,
            "f:3:39: the rule `old` has expired: it applies to no call since 2026-12-01T00:00:00Z\n"
            "f:7:51: the limit `gone` of the rule `part` has expired: it applies to no call since "
            "2026-12-02T00:00:00Z\n");
}

TEST(ScheduleTest, AFinalRuleThatEndsHidesNoOther) {
  EXPECT_EQ(Complaints(R"(
rules:
  - {id: sale, final: true, limit: 100/s, expires_at: 2026-12-01T00:00:00Z}
  - {id: some, final: true, limit: 100/s, rollout: {percent: 10}}
  - {id: part, final: true, limits: [{limit: 10/s, starts_at: 2026-12-01T00:00:00Z}]}
  - {id: usual, limit: 10/s}
)"),
            "");
  EXPECT_NE(
      Complaints("rules: [{id: a, final: true, limit: 9/s, rollout: {percent: 10, from: 8/s}},"
                 " {id: b, limit: 10/s}]"),
      "");
}

TEST(ScheduleTest, RulesThatTakeTurnsMayHaveManyLimitsTogether) {
  std::string limits;
  for (int i = 0; i < 100; ++i) limits += "{name: l" + std::to_string(i) + ", limit: 1/s}, ";
  const std::string summer = "{id: a, expires_at: 2027-01-01T00:00:00Z, limits: [" + limits + "]}";
  const std::string winter = "{id: b, starts_at: 2027-01-01T00:00:00Z, limits: [" + limits + "]}";
  EXPECT_EQ(Complaints("rules: [" + summer + ", " + winter + "]"), "");
}

}  // namespace
}  // namespace sluice::rules
