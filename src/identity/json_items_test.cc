#include "identity/json_items.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::identity {
namespace {

// "name=text;name=text;", or "wrong".
std::string Members(std::string_view text) {
  JsonItems items(text, JsonItems::Of::kObject);
  std::string out;
  while (items.Next()) out += items.name() + "=" + std::string(items.value().text) + ";";
  return items.failed() ? "wrong" : out;
}

TEST(JsonItems, TellsEachMemberAsItStands) {
  EXPECT_EQ(Members("{}"), "");
  EXPECT_EQ(Members(" { } "), "");
  EXPECT_EQ(Members(R"({"a":"b","c":1.5e+3 , "d":[1,{"x":[]}],"e":{"f":null},"g":true,"h":false})"),
            R"(a=b;c=1.5e+3;d=[1,{"x":[]}];e={"f":null};g=true;h=false;)");
  EXPECT_EQ(Members(R"({"\u0061\n":"\u0061"})"), "a\n=\\u0061;");
}

TEST(JsonItems, WhatIsNotExactlyJsonIsWrong) {
  for (const char* text : {"",
                           "[]",
                           "null",
                           "{",
                           "}",
                           "{,}",
                           R"({"a"})",
                           R"({"a":})",
                           R"({"a":1,})",
                           R"({"a":1}})",
                           R"({"a":1} x)",
                           R"({'a':1})",
                           R"({a:1})",
                           R"({"a":01})",
                           R"({"a":1.})",
                           R"({"a":.5})",
                           R"({"a":+1})",
                           R"({"a":1e})",
                           R"({"a":-})",
                           R"({"a":nul})",
                           R"({"a":"\x"})",
                           R"({"a":"\u12"})",
                           R"({"a":"\ud800"})",
                           R"({"a":"\udc00"})",
                           R"({"a":"\ud800\u0041"})",
                           "{\"a\":\"\n\"}",
                           R"({"a":"b)",
                           R"({"a":"b\)",
                           R"({"a":[1,]})",
                           R"({"a":[1 2]})",
                           R"({"a":{"b" 1}})",
                           R"({"a":NaN})",
                           R"({"a":1 "b":2})"}) {
    EXPECT_EQ(Members(text), "wrong") << text;
  }
}

TEST(JsonItems, DepthIsBounded) {
  const auto nested = [](int depth) {
    return R"({"a":)" + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']') + "}";
  };
  EXPECT_NE(Members(nested(15)), "wrong");
  EXPECT_EQ(Members(nested(16)), "wrong");
  EXPECT_EQ(Members(nested(100'000)), "wrong");
}

TEST(UnescapeJson, ResolvesEveryEscape) {
  EXPECT_EQ(UnescapeJson(R"(\"\\\/\b\f\n\r\t)"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(UnescapeJson(R"(\u00e4\u20AC\ud83d\ude00)"), "ä€😀");
  EXPECT_EQ(UnescapeJson("plain"), "plain");
  EXPECT_EQ(UnescapeJson(R"(\q)"), std::nullopt);
}

}  // namespace
}  // namespace sluice::identity
