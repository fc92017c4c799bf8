#include "load/schedule.h"

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using std::chrono::nanoseconds;

TEST(Schedule, BeginsAtOnceAndGoesOnAtItsRate) {
  Schedule schedule(nanoseconds(1'000), 1e6);
  EXPECT_EQ(schedule.next(), nanoseconds(1'000));
  schedule.Pop();
  EXPECT_EQ(schedule.next(), nanoseconds(2'000));
}

TEST(Schedule, DoesNotDriftAtARateThatDividesNothing) {
  Schedule schedule(nanoseconds(0), 300'007);
  for (int i = 0; i < 300'007 * 10; ++i) schedule.Pop();
  EXPECT_EQ(schedule.next(), std::chrono::seconds(10));
}

}  // namespace
}  // namespace sluice::bench
