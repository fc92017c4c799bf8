#include "match/lists.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice::match {
namespace {

rules::Pattern Exact(std::string text) { return {rules::PatternKind::kExact, std::move(text), {}}; }
rules::Pattern Globbed(std::string text) {
  return {rules::PatternKind::kGlob, std::move(text), {}};
}
rules::Pattern Cidr(std::string text) { return {rules::PatternKind::kCidr, std::move(text), {}}; }

TEST(AccessList, HasKeysPatternsAndNetworks) {
  const std::vector<rules::Pattern> entries = {Exact("a"), Globbed("sk_old_*"), Cidr("10.0.0.0/8")};
  const AccessList list(entries);
  EXPECT_EQ(list.Find("a", std::nullopt), &entries[0]);
  EXPECT_EQ(list.Find("sk_old_7", std::nullopt), &entries[1]);
  EXPECT_EQ(list.Find("b", ParseAddress("10.1.1.1")), &entries[2]);
  EXPECT_EQ(list.Find("", ParseAddress("::ffff:10.1.1.1")), &entries[2]);
  EXPECT_EQ(list.Find("b", ParseAddress("11.1.1.1")), nullptr);
  EXPECT_EQ(list.Find("", std::nullopt), nullptr);
  // A key is no network, whatever it looks like.
  EXPECT_EQ(list.Find("10.1.1.1", std::nullopt), nullptr);
  EXPECT_EQ(AccessList().Find("a", ParseAddress("10.1.1.1")), nullptr);
}

TEST(AccessList, AHundredThousandEntriesAreFoundOneByOne) {
  std::vector<rules::Pattern> entries;
  for (int i = 0; i < 100'000; ++i) {
    const std::string number = std::to_string(i);
    if (i % 3 == 0) {
      entries.push_back(Exact("sk_" + number));
    } else if (i % 3 == 1) {
      entries.push_back(Globbed("sk_" + number + "_*"));
    } else {
      entries.push_back(Cidr("10." + std::to_string(i / 65536) + "." +
                             std::to_string(i / 256 % 256) + "." + std::to_string(i % 256)));
    }
  }
  const AccessList list(entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& text = entries[i].text;
    const rules::Pattern* found = nullptr;
    if (i % 3 == 0) {
      found = list.Find(text, std::nullopt);
      EXPECT_EQ(list.Find(text + "x", std::nullopt), nullptr);
    } else if (i % 3 == 1) {
      found = list.Find(text.substr(0, text.size() - 1) + "abc", std::nullopt);
    } else {
      found = list.Find("", ParseAddress(text));
    }
    ASSERT_EQ(found, &entries[i]) << text;
  }
}

TEST(PatternTable, ExactOnesWinThenTheFirst) {
  const std::vector<rules::Pattern> patterns = {Globbed("*"), Globbed("abcd*"), Exact("abcde"),
                                                Globbed("abcde*"), Exact("abcde")};
  std::vector<const rules::Pattern*> pointers;
  for (const rules::Pattern& pattern : patterns) pointers.push_back(&pattern);
  const PatternTable all(pointers);
  EXPECT_EQ(all.Find("abcde"), 2U);
  EXPECT_EQ(all.Find("abcdef"), 0U);
  const PatternTable later(std::span<const rules::Pattern* const>(pointers).subspan(1));
  EXPECT_EQ(later.Find("abcdef"), 0U);
  EXPECT_EQ(later.Find("abc"), PatternTable::kNone);
}

TEST(PatternTable, AgreesWithLookingAtEachPattern) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto text = [&](std::string_view letters, std::size_t most) {
    std::string out(1 + random() % most, ' ');
    for (char& c : out) c = letters[random() % letters.size()];
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<rules::Pattern> patterns;
    std::vector<const rules::Pattern*> pointers;
    for (auto n = random() % 30; n > 0; --n) {
      patterns.push_back(random() % 3 == 0 ? Exact(text("ab", 6)) : Globbed(text("aabb*?", 9)));
    }
    for (const rules::Pattern& pattern : patterns) pointers.push_back(&pattern);
    const PatternTable table(pointers);
    for (int i = 0; i < 50; ++i) {
      const std::string value = text("ab", 9);
      std::uint32_t expected = PatternTable::kNone;
      for (const rules::PatternKind kind :
           {rules::PatternKind::kGlob, rules::PatternKind::kExact}) {
        for (std::size_t p = patterns.size(); p-- > 0;) {
          if (patterns[p].kind != kind) continue;
          const bool matches = kind == rules::PatternKind::kExact
                                   ? patterns[p].text == value
                                   : rules::Glob::Compile(patterns[p].text)->Matches(value);
          if (matches) expected = static_cast<std::uint32_t>(p);
        }
      }
      ASSERT_EQ(table.Find(value), expected) << value;
    }
  }
}

}  // namespace
}  // namespace sluice::match
