#include "algo/shape.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::algo {
namespace {

LimitNumbers Numbers(std::int64_t cap) {
  return {.algorithm = Algorithm::kFixedWindow, .cap = cap, .window = Micros{77}};
}

TEST(ShapeTest, EqualNumbersHaveOneShapeAndDifferentOnesTwo) {
  const std::uint32_t shape = ShapeOf(Numbers(1));
  EXPECT_NE(shape, 0U);
  EXPECT_EQ(ShapeOf(Numbers(1)), shape);
  EXPECT_NE(ShapeOf(Numbers(2)), shape);
  EXPECT_EQ(NumbersOf(shape), Numbers(1));
}

TEST(ShapeTest, ConcurrentThreadsAgreeOnTheShapesOfNewNumbers) {
  constexpr int kThreads = 4;
  constexpr std::int64_t kLimits = 500;
  std::vector<std::vector<std::uint32_t>> seen(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : seen) {
    threads.emplace_back([&mine] {
      for (std::int64_t i = 0; i < kLimits; ++i) mine.push_back(ShapeOf(Numbers(1000 + i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : seen) EXPECT_EQ(other, seen[0]);
}

// Last in this file: afterwards the table is full for the rest of the process.
TEST(ShapeTest, WhenTheTableIsFullNewNumbersHaveNoShapeAndOldOnesKeepTheirs) {
  const std::uint32_t shape = ShapeOf(Numbers(1));
  for (std::int64_t i = 0; i < kMaxShapes; ++i) static_cast<void>(ShapeOf(Numbers(100'000 + i)));
  EXPECT_EQ(ShapeOf(Numbers(99'999)), 0U);
  EXPECT_EQ(ShapeOf(Numbers(1)), shape);
  EXPECT_EQ(NumbersOf(shape), Numbers(1));
}

}  // namespace
}  // namespace sluice::algo
