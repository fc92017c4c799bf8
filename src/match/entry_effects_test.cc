#include "match/entry_effects.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "algo/algorithm_info.h"

namespace sluice::match {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Entry Limited(std::int64_t limit, Micros period) {
  Entry entry;
  entry.effect = EntryEffect::kLimit;
  entry.limit = limit;
  entry.period = period;
  return entry;
}

Entry Multiplied(std::int64_t digits, int scale) {
  Entry entry;
  entry.effect = EntryEffect::kMultiply;
  entry.factor = {.digits = digits, .scale = scale};
  return entry;
}

TEST(AdjustedLimit, MultipliesCapacityAndRate) {
  const Limit bucket = *Limit::TokenBucket({.capacity = 100, .refill = Rate::PerMinute(60)});
  EXPECT_EQ(AdjustedLimit(bucket, Multiplied(2, 0)),
            *Limit::TokenBucket({.capacity = 200, .refill = Rate::PerMinute(120)}));
  EXPECT_EQ(AdjustedLimit(bucket, Multiplied(5, 1)),
            *Limit::TokenBucket({.capacity = 50, .refill = Rate::PerMinute(30)}));
  const Limit window = *Limit::FixedWindow({.limit = 5, .window = hours(1)});
  EXPECT_EQ(AdjustedLimit(window, Multiplied(15, 1)),
            *Limit::FixedWindow({.limit = 7, .window = hours(1)}));
  EXPECT_EQ(AdjustedLimit(window, Multiplied(1, 6))->cap(), 1);
  const Limit month = *Limit::FixedWindow({.limit = 10, .anchor = Anchor::kMonth});
  EXPECT_EQ(AdjustedLimit(month, Multiplied(3, 0)),
            *Limit::FixedWindow({.limit = 30, .anchor = Anchor::kMonth}));
  const Limit slots = *Limit::Concurrency({.limit = 4, .time_to_live = minutes(1)});
  EXPECT_EQ(AdjustedLimit(slots, Multiplied(2, 0)),
            *Limit::Concurrency({.limit = 8, .time_to_live = minutes(1)}));
}

TEST(AdjustedLimit, ARateReplacesTheNumbersAndKeepsTheAlgorithm) {
  const Limit bucket = *Limit::TokenBucket({.capacity = 100, .refill = Rate::PerMinute(60)});
  EXPECT_EQ(AdjustedLimit(bucket, Limited(50, hours(1))),
            *Limit::TokenBucket({.capacity = 50, .refill = Rate::PerHour(50)}));
  const Limit leaky = *Limit::LeakyBucket({.capacity = 100, .leak = Rate::PerSecond(1)});
  EXPECT_EQ(AdjustedLimit(leaky, Limited(50, hours(1))),
            *Limit::LeakyBucket({.capacity = 50, .leak = Rate::PerHour(50)}));
  const Limit log = *Limit::SlidingWindowLog({.limit = 9, .window = seconds(1)});
  EXPECT_EQ(AdjustedLimit(log, Limited(50, hours(1))),
            *Limit::SlidingWindowLog({.limit = 50, .window = hours(1)}));
}

TEST(AdjustedLimit, ANumberAloneKeepsThePeriod) {
  const Limit bucket = *Limit::TokenBucket({.capacity = 100, .refill = Rate::PerMinute(60)});
  EXPECT_EQ(AdjustedLimit(bucket, Limited(50, Micros{0})),
            *Limit::TokenBucket({.capacity = 50, .refill = Rate::PerMinute(30)}));
  const Limit slots = *Limit::Concurrency({.limit = 4, .time_to_live = minutes(1)});
  EXPECT_EQ(AdjustedLimit(slots, Limited(9, Micros{0}))->cap(), 9);
  EXPECT_EQ(AdjustedLimit(slots, Limited(9, hours(1))), std::nullopt);
}

TEST(AdjustedLimit, HoldsEveryFactorOfEveryAlgorithm) {
  std::vector<Limit> limits;
  for (const std::int64_t amount : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1'000'000}}) {
    for (const Micros period : {Micros{seconds(1)}, Micros{hours(24)}}) {
      limits.push_back(*Limit::TokenBucket({.capacity = amount, .refill = {amount, period}}));
      limits.push_back(*Limit::LeakyBucket({.capacity = amount, .leak = {amount, period}}));
      limits.push_back(*Limit::FixedWindow({.limit = amount, .window = period}));
      limits.push_back(*Limit::SlidingWindowCounter({.limit = amount, .window = period}));
      limits.push_back(*Limit::SlidingWindowLog({.limit = amount, .window = period}));
      limits.push_back(*Limit::Concurrency({.limit = amount, .time_to_live = period}));
    }
  }
  for (const Limit& limit : limits) {
    for (const Decimal& factor :
         {Decimal{1, 3}, Decimal{5, 1}, Decimal{2, 0}, Decimal{1'000'000, 0}}) {
      const auto adjusted = AdjustedLimit(limit, Multiplied(factor.digits, factor.scale));
      ASSERT_TRUE(adjusted) << AlgorithmName(limit.algorithm()) << " " << limit.cap() << " × "
                            << factor.digits << "e-" << factor.scale;
      EXPECT_EQ(adjusted->algorithm(), limit.algorithm());
      EXPECT_GE(adjusted->cap(), 1);
    }
  }
}

class EntryEffects : public ::testing::Test {
 protected:
  const LiveEntry* Add(EntryEffect effect, std::string rule = {}, std::string limit_name = {},
                       WallTime expires_at = Entry::kNever) {
    Entry entry;
    entry.id = "e" + std::to_string(entries_.size());
    entry.effect = effect;
    entry.rule = std::move(rule);
    entry.limit_name = std::move(limit_name);
    entry.expires_at = expires_at;
    entries_.push_back(std::make_unique<LiveEntry>(std::move(entry)));
    found_.push_back(entries_.back().get());
    return found_.back();
  }

  std::vector<std::unique_ptr<LiveEntry>> entries_;
  std::vector<const LiveEntry*> found_;
};

TEST_F(EntryEffects, TheBlockThatEndsLastCounts) {
  Add(EntryEffect::kBlock, {}, {}, WallTime(seconds(10)));
  const LiveEntry* const last = Add(EntryEffect::kBlock, {}, {}, WallTime(seconds(20)));
  Add(EntryEffect::kBlock, "search", {}, WallTime(seconds(30)));
  EXPECT_EQ(FindBlock(found_), last);
  EXPECT_EQ(FindBlock(found_, "search"), found_[2]);
  EXPECT_EQ(FindBlock(found_, "other"), nullptr);
  EXPECT_EQ(RestOf(last->entry, WallTime(seconds(18))), Micros(seconds(2)));
  EXPECT_LT(RestOf(Entry{}, WallTime(seconds(18))), Micros{0});
}

TEST_F(EntryEffects, AnAllowOfARuleIsNotOneOfTheCall) {
  Add(EntryEffect::kAllow, "search", "a");
  EXPECT_EQ(FindAllow(found_), nullptr);
  EXPECT_EQ(FindAllow(found_, {.rule = "search", .limit_name = "a"}), found_[0]);
  EXPECT_EQ(FindAllow(found_, {.rule = "search", .limit_name = "b"}), nullptr);
  EXPECT_EQ(FindAllow(found_, {.rule = "other", .limit_name = "a"}), nullptr);
}

TEST_F(EntryEffects, TheFirstAdjustmentThatConcernsTheLimitCounts) {
  Add(EntryEffect::kBlock);
  Add(EntryEffect::kLimit);
  Add(EntryEffect::kUnlimited, "search");
  Add(EntryEffect::kMultiply);
  EXPECT_EQ(FindAdjustment(found_, {.rule = "search", .limit_name = "a"}), found_[1]);
  // A number for several limits does not apply.
  const EntryTarget one_of_two{.rule = "search", .limit_name = "a", .is_only_limit = false};
  EXPECT_EQ(FindAdjustment(found_, one_of_two), found_[2]);
  const EntryTarget other{.rule = "other", .limit_name = "a", .is_only_limit = false};
  EXPECT_EQ(FindAdjustment(found_, other), found_[3]);
}

}  // namespace
}  // namespace sluice::match
