#include "base/json_writer.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  JsonWriter(out).String(text);
  return out;
}

TEST(JsonWriterTest, ObjectsAndArraysNest) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  json.Key("a").Int(-1);
  json.Key("b").BeginArray().Bool(true).Null().BeginObject().EndObject().EndArray();
  json.Key("c").BeginObject();
  json.Key("d").BeginArray().EndArray();
  json.EndObject();
  json.EndObject();
  EXPECT_EQ(out, R"({"a":-1,"b":[true,null,{}],"c":{"d":[]}})");
}

TEST(JsonWriterTest, IndentedHasOneValuePerLine) {
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kIndented);
  json.BeginObject();
  json.Key("a").BeginArray().Int(1).Int(2).EndArray();
  json.Key("b").BeginObject().EndObject();
  json.EndObject();
  EXPECT_EQ(out, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
}

TEST(JsonWriterTest, ItAppendsToTheString) {
  std::string out = "data: ";
  JsonWriter(out).Int(1);
  EXPECT_EQ(out, "data: 1");
}

TEST(JsonWriterTest, NumbersAreExactAtTheirEnds) {
  std::string out;
  JsonWriter json(out);
  json.BeginArray();
  json.Int(std::numeric_limits<std::int64_t>::min());
  json.Uint(std::numeric_limits<std::uint64_t>::max());
  json.Double(0.1).Double(16.67).Double(1e300);
  json.EndArray();
  EXPECT_EQ(out, "[-9223372036854775808,18446744073709551615,0.1,16.67,1e+300]");
}

TEST(JsonWriterTest, NonFiniteNumbersAreNull) {
  std::string out;
  JsonWriter json(out);
  json.BeginArray();
  json.Double(std::numeric_limits<double>::quiet_NaN());
  json.Double(std::numeric_limits<double>::infinity());
  json.EndArray();
  EXPECT_EQ(out, "[null,null]");
}

TEST(JsonWriterTest, QuotesAndControlCharactersAreEscapedAlsoInNames) {
  EXPECT_EQ(Quoted("say \"hi\" \\ bye"), R"("say \"hi\" \\ bye")");
  EXPECT_EQ(Quoted("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(Quoted(std::string_view("\0\x1b\x7f", 3)), "\"\\u0000\\u001b\\u007f\"");
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  json.Key("a\"b").Null();
  json.EndObject();
  EXPECT_EQ(out, R"({"a\"b":null})");
}

TEST(JsonWriterTest, Utf8IsNotEscaped) {
  for (const char* text : {"ä", "€", "😀", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(Quoted(text), '"' + std::string(text) + '"');
  }
}

TEST(JsonWriterTest, InvalidUtf8IsReplaced) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(Quoted("a\xFFz"), "\"a" + replacement + "z\"");
  EXPECT_EQ(Quoted("\xC3"), '"' + replacement + '"');  // Cut off.
  EXPECT_EQ(Quoted("\xE2\x82"), '"' + replacement + replacement + '"');
  EXPECT_EQ(Quoted("\xC0\xAF"), '"' + replacement + replacement + '"');  // Overlong.
  EXPECT_EQ(Quoted("\xE0\x80\x80").find('\x80'), std::string::npos);
  EXPECT_EQ(Quoted("\xF0\x80\x80\x80").find('\x80'), std::string::npos);
  EXPECT_EQ(Quoted("\xED\xA0\x80").find('\xA0'), std::string::npos);      // A surrogate.
  EXPECT_EQ(Quoted("\xF4\x90\x80\x80").find('\x90'), std::string::npos);  // Above U+10FFFF.
  EXPECT_EQ(Quoted("\xC3"
                   "a"),
            '"' + replacement + "a\"");
}

}  // namespace
}  // namespace sluice
