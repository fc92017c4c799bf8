#include "rules/regex.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::rules {
namespace {

bool RegexMatches(std::string_view regex, std::string_view value) {
  const auto compiled = Regex::Compile(regex);
  EXPECT_TRUE(compiled) << regex;
  return compiled && compiled->Matches(value);
}

TEST(Regex, IsFoundAnywhereUnlessAnchored) {
  EXPECT_TRUE(RegexMatches("orders", "/v1/orders/7"));
  EXPECT_FALSE(RegexMatches("^orders", "/v1/orders/7"));
  EXPECT_TRUE(RegexMatches("^/v1/(orders|carts)/[0-9]+$", "/v1/carts/12"));
}

TEST(Regex, StrangeBytesDoNotEvadeAPattern) {
  EXPECT_TRUE(RegexMatches("^/v1/orders/.+$", "/v1/orders/\xFF\xFE"));
  EXPECT_TRUE(RegexMatches("^/v1/orders/[^/]+$", "/v1/orders/\xC3"));
  EXPECT_TRUE(RegexMatches("^/v1/orders/.+$", "/v1/orders/\n"));
  EXPECT_TRUE(RegexMatches("^/.$", std::string_view("/\0", 2)));
}

TEST(Regex, CharactersOutsideAsciiAreCharacters) {
  EXPECT_TRUE(RegexMatches("^/[äö]$", "/ö"));
  EXPECT_TRUE(RegexMatches("^/\\pL$", "/ö"));
}

TEST(Regex, ErrorsAreExplained) {
  EXPECT_EQ(RegexProblem("^/v1/.*"), std::nullopt);
  EXPECT_THAT(RegexProblem("a(b").value_or(""), ::testing::HasSubstr("missing )"));
  EXPECT_FALSE(Regex::Compile("a(b"));
}

TEST(Regex, CountedRepetitionsAreLarge) {
  std::size_t small = 0;
  EXPECT_EQ(RegexProblem("^/v1/orders/[0-9]+$", small), std::nullopt);
  EXPECT_LT(small, 100U);
  std::size_t large = 0;
  EXPECT_EQ(RegexProblem("^/v1/x{1,900}$", large), std::nullopt);
  EXPECT_GT(large, 900U);
}

TEST(Regex, AMatchIsNotLostWhenTheDfaRunsOutOfMemory) {
  // A DFA of this needs a state for each of 2^20 combinations.
  const auto regex = Regex::Compile("[ab]*a[ab]{20}$");
  ASSERT_TRUE(regex);
  std::string value;
  unsigned state = 1;
  for (int i = 0; i < 400'000; ++i) {
    state = state * 1103515245 + 12345;
    value += (state >> 16 & 1) != 0 ? 'a' : 'b';
  }
  value += std::string("a").append(20, 'b');
  EXPECT_TRUE(regex->Matches(value));
}

}  // namespace
}  // namespace sluice::rules
