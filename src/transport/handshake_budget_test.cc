#include "transport/handshake_budget.h"

#include <gtest/gtest.h>

namespace sluice::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kStart{seconds(1000)};

int TakeAll(HandshakeBudget& budget, std::uint64_t origin, SteadyTime now) {
  int taken = 0;
  while (taken < 1'000 && budget.Take(origin, now)) ++taken;
  return taken;
}

TEST(HandshakeBudgetTest, ABurstOfOneSecondMayStartAndThenTheRateApplies) {
  HandshakeBudget budget(100);
  EXPECT_EQ(TakeAll(budget, 1, kStart), 100);
  EXPECT_EQ(TakeAll(budget, 1, kStart + milliseconds(100)), 10);
  EXPECT_EQ(TakeAll(budget, 1, kStart + seconds(50)), 100) << "no more than that piles up";
}

TEST(HandshakeBudgetTest, AHandshakeThatSucceedsCostsNothing) {
  HandshakeBudget budget(2);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(budget.Take(1, kStart));
    budget.GiveBack(1);
  }
  EXPECT_EQ(TakeAll(budget, 1, kStart), 2);
}

TEST(HandshakeBudgetTest, ALateRefundAddsNoCredit) {
  HandshakeBudget budget(10);
  EXPECT_EQ(TakeAll(budget, 1, kStart), 10);
  for (int i = 0; i < 10; ++i) budget.GiveBack(1);
  EXPECT_EQ(TakeAll(budget, 1, kStart + seconds(60)), 10);
}

TEST(HandshakeBudgetTest, AddressesHaveSeparateBudgets) {
  HandshakeBudget budget(10);
  EXPECT_EQ(TakeAll(budget, 1, kStart), 10);
  int others = 0;
  for (std::uint64_t origin = 2; origin < 102; ++origin) {
    if (budget.Take(origin, kStart)) ++others;
  }
  EXPECT_GE(others, 95) << "few share a bucket";
}

TEST(HandshakeBudgetTest, ZeroMeansNoLimit) {
  HandshakeBudget budget(0);
  EXPECT_EQ(TakeAll(budget, 1, kStart), 1'000);
  budget.GiveBack(1);
}

}  // namespace
}  // namespace sluice::transport
