#include "match/regex_literals.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "match/condition.h"
#include "rules/regex.h"

namespace sluice::match {
namespace {

// "^text", "text$", "text": a literal and where it must be.
std::string Shown(const Literal& literal) {
  std::string text(literal.at_begin ? "^" : "");
  return text.append(literal.text).append(literal.at_end ? "$" : "");
}

std::string Shown(const RegexShape& shape) {
  if (shape.matches_all) return "all";
  if (shape.just) return std::string("just ").append(Shown(*shape.just));
  std::string text;
  for (const auto& alternatives : shape.one_of_each) {
    text += text.empty() ? "" : " ";
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      text += (i > 0 ? "|" : "") + Shown(alternatives[i]);
    }
  }
  return text;
}

TEST(RegexLiterals, PlainOnesNeedNoEngine) {
  EXPECT_EQ(Shown(ShapeOf("^/v1/orders.*")), "just ^/v1/orders");
  EXPECT_EQ(Shown(ShapeOf("^/v1/orders")), "just ^/v1/orders");
  EXPECT_EQ(Shown(ShapeOf("^/v1/orders$")), "just ^/v1/orders$");
  EXPECT_EQ(Shown(ShapeOf("/v1\\.0/")), "just /v1.0/");
  EXPECT_EQ(Shown(ShapeOf(".*/x/.*")), "just /x/");
  EXPECT_EQ(Shown(ShapeOf("^.*/x$")), "just /x$");
  EXPECT_EQ(Shown(ShapeOf("\\A/x.*?\\z")), "just ^/x");
  for (const char* all : {"", ".*", "^.*$", "^", "$", ".*.*"}) {
    EXPECT_EQ(Shown(ShapeOf(all)), "all") << all;
  }
}

TEST(RegexLiterals, OthersHaveTextThatMustBeThere) {
  EXPECT_EQ(Shown(ShapeOf("^/v1/orders/[0-9]+$")), "^/v1/orders/");
  EXPECT_EQ(Shown(ShapeOf("^/v[0-9]+/items?/x+y")), "^/v /item /x y");
  EXPECT_EQ(Shown(ShapeOf("^/(orders|carts)/all$")), "^/ orders|carts /all$");
  EXPECT_EQ(Shown(ShapeOf("^/a|b$")), "^/a|b$");
  EXPECT_EQ(Shown(ShapeOf("^/(a|b*)/c")), "^/ /c");
  EXPECT_EQ(Shown(ShapeOf("x(?:ab)?y(cd){0,2}z")), "x y z");
  EXPECT_EQ(Shown(ShapeOf("[]a]b[^]]c[[:alpha:]]d\\d")), "b c d");
  EXPECT_EQ(Shown(ShapeOf("^$")), "");
}

TEST(RegexLiterals, AnExpressionThatIgnoresCaseHasLiteralsThatDo) {
  const RegexShape shape = ShapeOf("(?i)^/V1/(Orders|carts)");
  EXPECT_EQ(Shown(shape), "^/V1/ Orders|carts");
  EXPECT_FALSE(shape.just);
  for (const auto& literals : shape.one_of_each) {
    for (const Literal& literal : literals) EXPECT_TRUE(literal.ignore_case);
  }
  EXPECT_TRUE(ShapeOf("(?i).*").matches_all);
  EXPECT_FALSE(ShapeOf("(?i)abc").just) << "a value that has it in another case matches, too";
}

TEST(RegexLiterals, WhatIsNotUnderstoodSaysNothing) {
  for (const char* text :
       {"a(?i)bc", "(?is)abc", "a{,2}b", "\\Qa.b\\E", "\\x41bc", "äb", "\\pLabc", "\\101"}) {
    EXPECT_EQ(Shown(ShapeOf(text)), "") << text;
  }
}

bool IsIn(Literal literal, const std::string& value) {
  if (!literal.ignore_case) return literal.In(value);
  literal.text = Lowered(literal.text);
  return literal.In(Lowered(value));
}

TEST(RegexLiterals, NothingWrongIsSaidOfRandomExpressions) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr std::array<const char*, 28> kParts = {
      "a",   "b",   "ab",   "/",    ".*",   ".",   "^",  "$",   "|",     "(",
      ")",   "(?:", "[ab]", "[^a]", "*",    "+",   "?",  "{2}", "{0,1}", "{1,}",
      "\\.", "\\b", "\\A",  "\\z",  "(?i)", "\\w", "*?", "]"};
  const auto value = [&] {
    std::string out(random() % 8, ' ');
    for (char& c : out) c = "ab/.]AB\n\xFF"[random() % 9];
    return out;
  };
  int judged = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text;
    for (auto n = random() % 8; n > 0; --n) text += kParts[random() % kParts.size()];
    const auto regex = rules::Regex::Compile(text);
    if (!regex) continue;
    const RegexShape shape = ShapeOf(text);
    for (int j = 0; j < 10; ++j) {
      const std::string asked = value();
      const bool matches = regex->Matches(asked);
      if (shape.matches_all) {
        ASSERT_TRUE(matches) << text << " on " << asked;
      }
      if (shape.just) {
        ASSERT_EQ(matches, shape.just->In(asked)) << text << " on " << asked;
      }
      if (!matches) continue;
      for (const auto& literals : shape.one_of_each) {
        ++judged;
        ASSERT_TRUE(std::any_of(literals.begin(), literals.end(),
                                [&](const Literal& literal) { return IsIn(literal, asked); }))
            << text << " on " << asked << ": " << Shown(shape);
      }
    }
  }
  EXPECT_GT(judged, 1000);
}

}  // namespace
}  // namespace sluice::match
