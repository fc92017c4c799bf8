#include "transport/memory_budget.h"

#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

namespace sluice::transport {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(MemoryBudgetTest, ChangesAreSummed) {
  MemoryBudget budget(10 * kMebibyte);
  budget.Change(0, 4 * kMebibyte);
  budget.Change(0, 3 * kMebibyte);
  EXPECT_EQ(budget.used(), 7 * kMebibyte);
  EXPECT_FALSE(budget.is_short());
  budget.Change(3 * kMebibyte, 4 * kMebibyte);
  EXPECT_TRUE(budget.is_short());
  EXPECT_FALSE(budget.is_exceeded());
  budget.Change(4 * kMebibyte, 7 * kMebibyte);
  EXPECT_TRUE(budget.is_exceeded());
  budget.Change(7 * kMebibyte, 0);
  budget.Change(4 * kMebibyte, 0);
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_EQ(budget.LargestHolders(), 0U);
}

TEST(MemoryBudgetTest, LargestHoldersReturnsTheLargestSizeClass) {
  MemoryBudget budget(10 * kMebibyte);
  for (int i = 0; i < 100; ++i) budget.Change(0, 20'000);
  budget.Change(0, 3 * kMebibyte);
  EXPECT_EQ(budget.LargestHolders(), 2 * kMebibyte) << "from there on up to twice that";
  budget.Change(3 * kMebibyte, 0);
  EXPECT_EQ(budget.LargestHolders(), 16384U);
}

TEST(MemoryBudgetTest, APeakIsReportedOnce) {
  MemoryBudget budget(10 * kMebibyte);
  budget.Change(0, 5 * kMebibyte);
  budget.Change(5 * kMebibyte, kMebibyte);
  EXPECT_EQ(budget.TakePeak(), 5 * kMebibyte);
  EXPECT_EQ(budget.TakePeak(), kMebibyte);
}

TEST(MemoryBudgetTest, ReliefIsRateLimitedAndSkipsRemovedCallbacks) {
  MemoryBudget budget(kMebibyte);
  int called = 0;
  int gone = 0;
  const auto stays = budget.Enlist([&] { ++called; });
  auto goes = budget.Enlist([&] { ++gone; });
  const SteadyTime now{1h};
  budget.CallForRelief(now);
  budget.CallForRelief(now + 1ms);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(gone, 1);
  goes.reset();
  budget.CallForRelief(now + 1s);
  EXPECT_EQ(called, 2);
  EXPECT_EQ(gone, 1);
}

}  // namespace
}  // namespace sluice::transport
