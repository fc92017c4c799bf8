#include "base/wide_math.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(WideMathTest, CeilDivRoundsUpOnlyWhatDoesNotDivide) {
  EXPECT_EQ(CeilDiv(0, 5), 0);
  EXPECT_EQ(CeilDiv(10, 5), 2);
  EXPECT_EQ(CeilDiv(11, 5), 3);
  EXPECT_EQ(CeilDiv(1, kMost), 1);
}

TEST(WideMathTest, CeilDivDoesNotOverflowAtTheLargestNumber) {
  EXPECT_EQ(CeilDiv(kMost, 1), kMost);
  EXPECT_EQ(CeilDiv(kMost, 2), kMost / 2 + 1);
  EXPECT_EQ(CeilDiv(kMost, kMost), 1);
}

TEST(WideMathTest, MulDivFloorRoundsDown) {
  EXPECT_EQ(MulDivFloor(7, 3, 4), 5);
  EXPECT_EQ(MulDivFloor(8, 3, 4), 6);
  EXPECT_EQ(MulDivFloor(0, 3, 4), 0);
}

TEST(WideMathTest, MulDivCeilRoundsUp) {
  EXPECT_EQ(MulDivCeil(7, 3, 4), 6);
  EXPECT_EQ(MulDivCeil(8, 3, 4), 6);
  EXPECT_EQ(MulDivCeil(0, 3, 4), 0);
}

TEST(WideMathTest, ProductsWiderThanSixtyFourBitsAreExact) {
  EXPECT_EQ(MulDivFloor(kMost, kMost, kMost), kMost);
  EXPECT_EQ(MulDivCeil(kMost, kMost, kMost), kMost);
  EXPECT_EQ(MulDivFloor(kMost, kMost - 1, kMost), kMost - 1);
  EXPECT_EQ(MulDivFloor(kMost, 2, 3), 6148914691236517204);
  EXPECT_EQ(MulDivCeil(kMost, 2, 3), 6148914691236517205);
}

}  // namespace
}  // namespace sluice
