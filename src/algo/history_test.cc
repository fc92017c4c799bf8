#include "algo/history.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace sluice::algo {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr WallTime kStart{hours(24) * 20'000};

class HistoryTest : public ::testing::TestWithParam<Algorithm> {
 protected:
  HistoryTest() { state_.history = &history_; }

  void TakeAt(WallTime now, std::uint64_t slot) {
    Advance(limit_.numbers(), now, state_);
    const std::size_t more = BytesToGrow(limit_.numbers(), state_, 1);
    const std::size_t before = BytesOf(history_);
    Grow(limit_.numbers(), state_, 1);
    EXPECT_EQ(BytesOf(history_), before + more);
    Take(limit_.numbers(), state_, 1, slot);
    EXPECT_EQ(BytesOf(history_), before + more) << "grew by more than was said";
  }

  Limit limit_ = GetParam() == Algorithm::kConcurrency
                     ? Limit::Concurrency({.limit = 10'000, .time_to_live = seconds(10)}).value()
                     : Limit::SlidingWindowLog({.limit = 10'000, .window = seconds(10)}).value();
  History history_;
  State state_ = Fresh(limit_.numbers(), kStart);
};

INSTANTIATE_TEST_SUITE_P(Of, HistoryTest,
                         ::testing::Values(Algorithm::kSlidingWindowLog, Algorithm::kConcurrency));

TEST_P(HistoryTest, GrowsByTheReportedBytes) {
  for (int i = 0; i < 5000; ++i) {
    TakeAt(kStart + std::chrono::milliseconds(4) * i, static_cast<std::uint64_t>(i + 1));
  }
}

TEST_P(HistoryTest, ReleasesTheMemoryOfExpiredEntries) {
  for (int i = 0; i < 1000; ++i) TakeAt(kStart + Micros{i}, static_cast<std::uint64_t>(i + 1));
  TakeAt(kStart + seconds(9), 2000);
  const std::size_t full = BytesOf(history_);
  EXPECT_FALSE(Shrink(limit_.numbers(), kStart + seconds(9), state_));
  EXPECT_EQ(BytesOf(history_), full);
  EXPECT_TRUE(Shrink(limit_.numbers(), kStart + seconds(11), state_));
  EXPECT_LT(BytesOf(history_), full / 100);
  Advance(limit_.numbers(), kStart + seconds(11), state_);
  EXPECT_EQ(Left(limit_.numbers(), kStart + seconds(11), state_), 9'999);
}

}  // namespace
}  // namespace sluice::algo
