#include "base/key.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string Encoded(std::string_view bytes) {
  std::string out;
  AppendPercentEncoded(bytes, out);
  return out;
}

std::string EncodedList(const std::vector<std::string_view>& values) {
  std::string out;
  AppendEncodedValues(values, out);
  return out;
}

std::string NameOf(const Key& key) {
  std::string out;
  AppendKeyName(key, out);
  return out;
}

TEST(KeyTest, LettersDigitsAndAFewSignsAreNotEncoded) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  EXPECT_EQ(Encoded(kPlain), kPlain);
}

TEST(KeyTest, EverythingElseIsPercentEncoded) {
  EXPECT_EQ(Encoded("a:b{c}%d e"), "a%3Ab%7Bc%7D%25d%20e");
  EXPECT_EQ(Encoded("\xC3\xA4\xFF"), "%C3%A4%FF");
  EXPECT_EQ(Encoded(std::string_view("\0\n", 2)), "%00%0A");
}

TEST(KeyTest, EveryByteHasAnEncodingOfItsOwn) {
  std::map<std::string, int> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const auto [at, is_new] = seen.emplace(Encoded({&c, 1}), byte);
    EXPECT_TRUE(is_new) << byte << " and " << at->second << " give " << at->first;
  }
}

TEST(KeyTest, TheEncodingIsAppended) {
  std::string out = "before ";
  AppendPercentEncoded("x", out);
  EXPECT_EQ(out, "before x");
}

TEST(KeyTest, ValuesAreSeparatedByColons) { EXPECT_EQ(EncodedList({"a", "b c", ""}), "a:b%20c:"); }

TEST(KeyTest, DifferentListsOfOneLengthGiveDifferentText) {
  const std::vector<std::string_view> hostile{"",
                                              ":",
                                              "::",
                                              "%",
                                              "%3A",
                                              "%253A",
                                              "a",
                                              "a:",
                                              ":a",
                                              "{a}",
                                              "{",
                                              "}",
                                              "a%",
                                              "\n",
                                              "\xFF",
                                              std::string_view("\0", 1),
                                              std::string_view("\0\0", 2)};
  std::map<std::string, std::string> seen;
  for (const std::string_view first : hostile) {
    for (const std::string_view second : hostile) {
      for (const std::string_view third : hostile) {
        const std::string spelled =
            Encoded(first) + " | " + Encoded(second) + " | " + Encoded(third);
        const auto [at, is_new] = seen.emplace(EncodedList({first, second, third}), spelled);
        EXPECT_TRUE(is_new) << spelled << " and " << at->second << " give " << at->first;
      }
    }
  }
}

TEST(KeyTest, ListsOfDifferentLengthsGiveDifferentText) {
  EXPECT_NE(EncodedList({"a"}), EncodedList({"a", ""}));
  EXPECT_NE(EncodedList({"", ""}), EncodedList({""}));
  EXPECT_NE(EncodedList({"a:b"}), EncodedList({"a", "b"}));
}

TEST(KeyTest, AKeysNameHoldsItsTagInBraces) {
  EXPECT_EQ(NameOf({.scope = "api:burst", .tag = "k 1", .rest = "x:y"}), "{k%201}:api:burst:x:y");
}

TEST(KeyTest, ATagCannotCloseItsBraces) {
  EXPECT_EQ(NameOf({.scope = "s", .tag = "a}:t:{b", .rest = ""}), "{a%7D%3At%3A%7Bb}:s:");
}

}  // namespace
}  // namespace sluice
