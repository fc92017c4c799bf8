#include "base/stable_hash.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(StableHashTest, NeverChanges) {
  EXPECT_EQ(StableHash("", ""), 0x1bbd5c813c69a8d7U);
  EXPECT_EQ(StableHash("api", "sk_1"), 0x12c4a9e8e7841cadU);
  EXPECT_EQ(StableHash("api", "sk_2"), 0x496278610f51a7d4U);
  EXPECT_EQ(StableHash("ap", "isk_1"), 0xd7d15aa4c06b3b77U);
}

TEST(StableHashTest, SpreadsSimilarTextsEvenly) {
  int below = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (StableHash("rule", "sk_prod_" + std::to_string(i)) % 10'000 < 1'000) ++below;
  }
  EXPECT_GT(below, 9'500);
  EXPECT_LT(below, 10'500);
}

}  // namespace
}  // namespace sluice
