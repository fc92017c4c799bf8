#include "rules/glob.h"

#include <random>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice::rules {
namespace {

bool Matches(std::string_view glob, std::string_view value) {
  const auto compiled = Glob::Compile(glob);
  EXPECT_TRUE(compiled) << glob;
  return compiled && compiled->Matches(value);
}

// Slow, and short enough to be seen to be right.
bool SlowMatches(std::string_view glob, std::string_view value) {
  if (glob.empty()) return value.empty();
  if (glob[0] == '*') {
    return SlowMatches(glob.substr(1), value) ||
           (!value.empty() && SlowMatches(glob, value.substr(1)));
  }
  if (value.empty()) return false;
  if (glob[0] == '?') return SlowMatches(glob.substr(1), value.substr(1));
  if (glob[0] == '\\') glob.remove_prefix(1);
  return glob[0] == value[0] && SlowMatches(glob.substr(1), value.substr(1));
}

TEST(Glob, StarStandsForAnyBytes) {
  EXPECT_TRUE(Matches("sk_prod_*", "sk_prod_1"));
  EXPECT_TRUE(Matches("sk_prod_*", "sk_prod_"));
  EXPECT_FALSE(Matches("sk_prod_*", "sk_prod"));
  EXPECT_FALSE(Matches("sk_prod_*", "xsk_prod_1"));
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_TRUE(Matches("*", std::string_view("\0\n\xFF", 3)));
  EXPECT_TRUE(Matches("a*b*c", "aXbbYc"));
  EXPECT_FALSE(Matches("a*b*c", "acb"));
}

TEST(Glob, BeginAndEndMayNotOverlap) {
  EXPECT_FALSE(Matches("aba*aba", "ababa"));
  EXPECT_TRUE(Matches("aba*aba", "abaaba"));
}

TEST(Glob, QuestionMarkStandsForOneByte) {
  EXPECT_TRUE(Matches("a?c", "abc"));
  EXPECT_FALSE(Matches("a?c", "ac"));
  EXPECT_TRUE(Matches("*?x", "yx"));
  EXPECT_FALSE(Matches("*?x", "x"));
}

TEST(Glob, BackslashTakesTheNextByteAsItIs) {
  EXPECT_TRUE(Matches("a\\*", "a*"));
  EXPECT_FALSE(Matches("a\\*", "ab"));
  EXPECT_TRUE(Matches("\\\\", "\\"));
  EXPECT_TRUE(Matches("[a]", "[a]"));
}

TEST(Glob, ABackslashAtTheEndAndNothingAtAllAreRefused) {
  EXPECT_FALSE(Glob::Compile("a\\"));
  EXPECT_FALSE(Glob::Compile(""));
  EXPECT_THAT(GlobProblem("a\\").value_or(""), ::testing::HasSubstr("ends with '\\'"));
  EXPECT_EQ(GlobProblem("a\\\\"), std::nullopt);
}

TEST(Glob, AgreesWithTheModelOnRandomInput) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto text = [&](std::string_view letters, std::size_t most) {
    std::string out(random() % (most + 1), ' ');
    for (char& c : out) c = letters[random() % letters.size()];
    return out;
  };
  int matched = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string glob = text("ab*?*\\", 8);
    const auto compiled = Glob::Compile(glob);
    if (!compiled) continue;
    const std::string value = text("ab*", 10);
    ASSERT_EQ(compiled->Matches(value), SlowMatches(glob, value)) << glob << " on " << value;
    if (compiled->IsJustLiteral()) {
      const Glob::Literal just = compiled->Literals().at(0);
      const bool there = just.at_begin && just.at_end ? value == just.text
                         : just.at_begin              ? value.starts_with(just.text)
                         : just.at_end                ? value.ends_with(just.text)
                                                      : value.find(just.text) != std::string::npos;
      ASSERT_EQ(compiled->Matches(value), there) << glob << " on " << value;
    }
    if (!compiled->Matches(value)) continue;
    ++matched;
    for (const Glob::Literal& literal : compiled->Literals()) {
      ASSERT_NE(value.find(literal.text), std::string::npos) << glob << " on " << value;
      if (literal.at_begin) {
        ASSERT_TRUE(value.starts_with(literal.text)) << glob << " on " << value;
      }
      if (literal.at_end) {
        ASSERT_TRUE(value.ends_with(literal.text)) << glob << " on " << value;
      }
    }
  }
  EXPECT_GT(matched, 1000);
}

TEST(Glob, HostileInputTakesBoundedTime) {
  std::string glob;
  for (int i = 0; i < 200; ++i) glob += "*aaaa?aaaab";
  // With backtracking over all stars this would not end.
  EXPECT_FALSE(Matches(glob, std::string(20'000, 'a')));
}

}  // namespace
}  // namespace sluice::rules
