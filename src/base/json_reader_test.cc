#include "base/json_reader.h"

#include <random>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "base/testing/allocations.h"
#include "base/testing/seed.h"

namespace sluice {
namespace {

// "name=text;name=text;", or "wrong".
std::string Members(std::string_view text) {
  JsonDocument document;
  const auto value = document.Parse(text);
  if (!value || !value->is_object()) return "wrong";
  std::string out;
  for (const JsonValue member : *value) {
    out.append(member.name()).append("=").append(member.raw()).append(";");
  }
  return out;
}

std::string Text(std::string_view json) {
  JsonDocument document;
  const auto value = document.Parse(json);
  return value ? std::string(value->String().value_or("no string")) : "wrong";
}

TEST(JsonReaderTest, EachMemberKeepsItsSourceText) {
  EXPECT_EQ(Members("{}"), "");
  EXPECT_EQ(Members(" { } "), "");
  EXPECT_EQ(Members(R"({"a":"b","c":1.5e+3 , "d":[1,{"x":[]}],"e":{"f":null},"g":true,"h":false})"),
            R"(a="b";c=1.5e+3;d=[1,{"x":[]}];e={"f":null};g=true;h=false;)");
  EXPECT_EQ(Members(R"({"\u0061\n":"\u0061"})"), "a\n=\"\\u0061\";");
}

TEST(JsonReaderTest, OnlyStrictJsonIsAccepted) {
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
                           R"({"a":"\u12)",
                           R"({"a":"\ud800"})",
                           R"({"a":"\udc00"})",
                           R"({"a":"\ud800\u0041"})",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\n\n\"}",
                           "{\"a\":\"\xFF\"}",
                           "{\"a\":\"\\n\xC0\x80\"}",
                           "{\"a\":\"\xED\xA0\x80\"}",
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

TEST(JsonReaderTest, ErrorsHaveTheirOffset) {
  JsonDocument document;
  EXPECT_FALSE(document.Parse(R"({"a":1 "b":2})"));
  EXPECT_EQ(document.error(), "expected a comma or '}'");
  EXPECT_EQ(document.error_at(), 7);
  EXPECT_FALSE(document.Parse("[1] 2"));
  EXPECT_EQ(document.error(), "something follows the value");
  EXPECT_EQ(document.error_at(), 4);
}

TEST(JsonReaderTest, DepthIsBounded) {
  const auto nested = [](std::size_t depth) {
    return R"({"a":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_NE(Members(nested(15)), "wrong");
  EXPECT_EQ(Members(nested(16)), "wrong");
  EXPECT_EQ(Members(nested(100'000)), "wrong");
}

TEST(JsonReaderTest, EveryEscapeIsResolved) {
  EXPECT_EQ(Text(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(Text(R"("\u00e4\u20AC\ud83d\ude00")"), "ä€😀");
  EXPECT_EQ(Text(R"("a\u0000b")"), std::string("a\0b", 3));
  EXPECT_EQ(Text(R"("ä plain")"), "ä plain");
}

TEST(JsonReaderTest, StringsWithEscapesStayWhereTheyAre) {
  std::string json = "[";
  for (int i = 0; i < 200; ++i) json += R"("\u0061)" + std::to_string(i) + "\",";
  json.back() = ']';
  JsonDocument document;
  const auto value = document.Parse(json);
  ASSERT_TRUE(value);
  ASSERT_EQ(value->size(), 200);
  int i = 0;
  for (const JsonValue each : *value) EXPECT_EQ(each.String(), "a" + std::to_string(i++));
}

TEST(JsonReaderTest, ValuesAreOfOneKind) {
  JsonDocument document;
  const auto value =
      document.Parse(R"({"s":"x","n":5.0,"f":0.5,"t":true,"z":null,"a":[1,2],"s":1})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->size(), 7);
  EXPECT_EQ(value->Find("s")->String(), "x");
  EXPECT_EQ(value->Find("s")->Whole(), std::nullopt);
  EXPECT_EQ(value->Find("n")->Whole(), 5);
  EXPECT_EQ(value->Find("n")->Number(), "5.0");
  EXPECT_EQ(value->Find("f")->Whole(), std::nullopt);
  EXPECT_EQ(value->Find("t")->Bool(), true);
  EXPECT_EQ(value->Find("z")->Bool(), std::nullopt);
  EXPECT_TRUE(value->Find("z")->is_null());
  EXPECT_EQ(value->Find("a")->size(), 2);
  EXPECT_EQ(value->Find("none"), std::nullopt);
}

TEST(JsonReaderTest, ParsingAgainAllocatesNothing) {
  const std::string json = R"({"key":"user\n1","cost":3,"list":[{"a":1},{"b":"\u00e4"}]})";
  JsonDocument document;
  ASSERT_TRUE(document.Parse(json));
  const std::size_t before = Allocations();
  const bool parsed = document.Parse(json).has_value();
  EXPECT_EQ(Allocations(), before);
  EXPECT_TRUE(parsed);
}

// Parsed by both, and written again from what was read.
class Differential : public ::testing::Test {
 protected:
  static void Write(const JsonValue& value, std::string& out) {
    if (const auto text = value.String()) {
      out.append("s" + std::to_string(text->size())).append(*text);
    }
    if (const auto truth = value.Bool()) out += *truth ? "T" : "F";
    if (value.Number()) out += "n";
    if (value.is_null()) out += "0";
    if (value.size() == 0 && !value.is_array() && !value.is_object()) return;
    out += value.is_object() ? '{' : '[';
    for (const JsonValue each : value) {
      if (value.is_object()) out.append(each.name()).append(":");
      Write(each, out);
    }
    out += '}';
  }

  static void Write(const simdjson::dom::element& value, std::string& out) {
    using Type = simdjson::dom::element_type;
    switch (value.type()) {
      case Type::STRING: {
        const std::string_view text = value.get_string().value_unsafe();
        out += "s" + std::to_string(text.size()) + std::string(text);
        break;
      }
      case Type::BOOL:
        out += value.get_bool().value_unsafe() ? "T" : "F";
        break;
      case Type::NULL_VALUE:
        out += "0";
        break;
      case Type::ARRAY: {
        const simdjson::dom::array items = value.get_array().value_unsafe();
        out += '[';
        for (const simdjson::dom::element each : items) Write(each, out);
        out += '}';
        break;
      }
      case Type::OBJECT: {
        const simdjson::dom::object fields = value.get_object().value_unsafe();
        out += '{';
        for (const auto& [name, each] : fields) {
          out.append(name).append(":");
          Write(each, out);
        }
        out += '}';
        break;
      }
      default:
        out += "n";
    }
  }
};

TEST_F(Differential, DamagedTextsAreParsedLikeSimdjsonDoes) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string_view kTexts[] = {
      R"({"key":"u\"s\u00e4er","cost":12,"attributes":{"a":[1,-2.5e1,null,true,false],"b":""}})",
      R"([ {"x":"ä€😀"} , [] , {} , "\ud83d\ude00\\\/" , 0 , 0.1E-2 ])",
  };
  constexpr std::string_view kBytes = "{}[]\",:\\u0123dDcCeE+-.tfn \n\x01\x80\xC3\xE2\xED\xF0\xFF";
  JsonDocument document;
  simdjson::dom::parser parser;
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text(kTexts[random() % 2]);
    for (std::uint64_t edits = random() % 3; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) text.erase(at, random() % 3);
      if (at < text.size()) text[at] = kBytes[random() % kBytes.size()];
    }
    const auto value = document.Parse(text);
    simdjson::dom::element element;
    const bool theirs = parser.parse(text).get(element) == simdjson::SUCCESS;
    ASSERT_EQ(value.has_value(), theirs) << text << ": " << document.error();
    if (!value) continue;
    ++accepted;
    std::string read;
    std::string expected;
    Write(*value, read);
    Write(element, expected);
    ASSERT_EQ(read, expected) << text;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace sluice
