#include "algo/algorithm_info.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::algo {
namespace {

TEST(AlgorithmInfoTest, EveryRowMatchesItsAlgorithm) {
  std::set<char> letters;
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const AlgorithmInfo& info = InfoOf(algorithm);
    EXPECT_EQ(FindAlgorithm(AlgorithmName(algorithm)), algorithm);
    EXPECT_EQ(FindAlgorithm(info.public_name), algorithm);
    EXPECT_EQ(info.check_scope, ":check:" + std::string(info.public_name));
    EXPECT_TRUE(letters.insert(info.letter).second) << info.letter;
  }
  EXPECT_EQ(FindAlgorithm(""), std::nullopt);
  EXPECT_EQ(FindAlgorithm("token"), std::nullopt);
}

TEST(AlgorithmInfoTest, OnlyConcurrencyHasSlots) {
  EXPECT_TRUE(HasSlots(Algorithm::kConcurrency));
  EXPECT_EQ(AlgorithmWords(true).size(), kAlgorithms.size() + 1);
  EXPECT_THAT(AlgorithmWords(true),
              ::testing::Contains(::testing::Pair("concurrency", Algorithm::kConcurrency)));
  EXPECT_THAT(AlgorithmWords(false),
              ::testing::Not(::testing::Contains(::testing::Pair("concurrency", ::testing::_))));
}

}  // namespace
}  // namespace sluice::algo
