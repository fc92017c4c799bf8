#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/limiter.h>
#include <sluice/rules.h>

#include "base/fake_clock.h"

/// Rules over a memory store that is full.
namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class FullRulesTest : public ::testing::Test {
 protected:
  int AllowedOf(const Rules& rules, std::string_view prefix, int calls) {
    int allowed = 0;
    for (int i = 0; i < calls; ++i) {
      const std::string user = std::string(prefix) + std::to_string(i);
      const std::vector<Attribute> attributes = {{"user", user}};
      const auto decision = limiter_.Check(rules, attributes, 1, &statuses_);
      EXPECT_TRUE(decision.ok());
      allowed += decision->allowed ? 1 : 0;
    }
    return allowed;
  }

  FakeClock clock_{WallTime{seconds(1'900'000'000)}};
  Limiter limiter_ = *Limiter::InMemory({.max_keys = 100, .clock = &clock_});
  std::vector<RuleStatus> statuses_;
};

TEST_F(FullRulesTest, NewKeysShareOneBudgetAndHeldOnesKeepTheirs) {
  const Rules rules = *Rules::FromText(
      "rules: [{ id: api, per: [user], algorithm: fixed_window, limit: 5, window: 3600 }]");
  EXPECT_EQ(AllowedOf(rules, "held", 100), 100);
  EXPECT_EQ(AllowedOf(rules, "new", 1000), 5);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(AllowedOf(rules, "held", 100), 100);
  EXPECT_EQ(AllowedOf(rules, "held", 100), 0);
  clock_.Advance(hours(1));
  EXPECT_EQ(AllowedOf(rules, "newer", 100), 100);
}

TEST_F(FullRulesTest, ASharedBudgetCanBeRefunded) {
  const Rules rules = *Rules::FromText(
      "rules: [{ id: api, per: [user], algorithm: fixed_window, limit: 5, window: 3600 }]");
  AllowedOf(rules, "held", 100);
  EXPECT_EQ(AllowedOf(rules, "new", 5), 5);
  ASSERT_EQ(statuses_.size(), 1U);
  EXPECT_TRUE(limiter_.Refund(statuses_[0]).ok());
  EXPECT_EQ(AllowedOf(rules, "newer", 5), 1);
}

TEST_F(FullRulesTest, ClosedDeniesAndOpenAllowsNewKeys) {
  const Rules rules = *Rules::FromText(R"(
when_full: closed
rules:
  - { id: api, per: [user], match: { user: "c*" }, limit: 5/h }
  - { id: open, per: [user], match: { user: "o*" }, limit: 1/h, when_full: open }
  - { id: fill, per: [user], match: { user: "held*" }, limit: 5/h }
)");
  EXPECT_EQ(AllowedOf(rules, "held", 100), 100);
  EXPECT_EQ(AllowedOf(rules, "c", 10), 0);
  EXPECT_EQ(AllowedOf(rules, "o", 10), 10);
}

}  // namespace
}  // namespace sluice
