#include "telemetry/rule_counters.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/metrics_snapshot.h"

namespace sluice::telemetry {
namespace {

using Column = RuleCounters::Column;

TEST(RuleIdsTest, ARuleKeepsItsNumber) {
  RuleIds ids;
  const RuleSeries first = ids.Intern("a", Algorithm::kTokenBucket);
  const RuleSeries second = ids.Intern("b", Algorithm::kTokenBucket);
  EXPECT_NE(first, second);
  EXPECT_EQ(ids.Intern("a", Algorithm::kTokenBucket), first);
  EXPECT_EQ(ids.Intern("b", Algorithm::kTokenBucket), second);
}

TEST(RuleIdsTest, TheAlgorithmsOfARuleAreToldApart) {
  RuleIds ids;
  EXPECT_NE(ids.Intern("a", Algorithm::kTokenBucket), ids.Intern("a", Algorithm::kConcurrency));
}

TEST(RuleIdsTest, ANameThatEndsLikeAnAlgorithmsNumberIsNoOtherRule) {
  RuleIds ids;
  const std::string name("a\0", 2);
  EXPECT_NE(ids.Intern(name, Algorithm::kTokenBucket), ids.Intern("a", Algorithm::kTokenBucket));
}

TEST(RuleIdsTest, WhatComesAfterTheLastNumberIsCountedTogether) {
  RuleIds ids(2);
  const RuleSeries kept = ids.Intern("a", Algorithm::kTokenBucket);
  ids.Intern("b", Algorithm::kTokenBucket);
  EXPECT_EQ(ids.overflowed(), 0U);
  const RuleSeries other = ids.Intern("c", Algorithm::kFixedWindow);
  EXPECT_EQ(ids.Intern("d", Algorithm::kFixedWindow), other);
  EXPECT_EQ(ids.Names()[other.index].rule, "_other");
  EXPECT_EQ(ids.Names()[other.index].algorithm, Algorithm::kFixedWindow);
  EXPECT_EQ(ids.overflowed(), 2U);
  EXPECT_EQ(ids.Intern("a", Algorithm::kTokenBucket), kept);
}

TEST(RuleIdsTest, ARuleThatIsNamedLikeTheRestIsCountedWithIt) {
  RuleIds ids(0);
  EXPECT_EQ(ids.Intern("_other", Algorithm::kLeakyBucket),
            ids.Intern("anything", Algorithm::kLeakyBucket));
}

TEST(RuleIdsTest, NamesThatLookTheSameWhenWrittenAreOne) {
  RuleIds ids;
  EXPECT_EQ(ids.Intern("a\xFF", Algorithm::kTokenBucket),
            ids.Intern("a\xFE", Algorithm::kTokenBucket));
  EXPECT_EQ(ids.Names().back().rule, "a\xEF\xBF\xBD");
}

TEST(RuleCountersTest, EachNumberHasItsOwnCounts) {
  RuleIds ids(3);
  RuleCounters counters(ids);
  for (std::uint32_t i = 0; i < ids.capacity(); ++i) {
    for (std::uint32_t n = 0; n < i; ++n) counters.Add({i}, Column::kAllowed);
    counters.Add({i}, Column::kDenied);
  }
  for (std::uint32_t i = 0; i < ids.capacity(); ++i) {
    EXPECT_EQ(counters.value({i}, Column::kAllowed), i);
    EXPECT_EQ(counters.value({i}, Column::kDenied), 1U);
    EXPECT_EQ(counters.value({i}, Column::kShadowDenied), 0U);
  }
}

TEST(RuleCountersTest, TheRestIsToldOnlyWhereThereIsOne) {
  RuleIds ids(1);
  LoopCounters counters(ids);
  const LoopCounters* const loops[] = {&counters};
  ids.Intern("a", Algorithm::kTokenBucket);
  const RuleSeries other = ids.Intern("b", Algorithm::kTokenBucket);
  MetricsSnapshot before;
  ReadLoops(ids, loops, before);
  ASSERT_EQ(before.requests.size(), 1U);
  EXPECT_EQ(before.requests[0].rule, "a");
  counters.CountLimit(other, Allowed::kNo);
  MetricsSnapshot after;
  ReadLoops(ids, loops, after);
  ASSERT_EQ(after.requests.size(), 2U);
  EXPECT_EQ(after.requests[0].rule, "_other");
}

}  // namespace
}  // namespace sluice::telemetry
