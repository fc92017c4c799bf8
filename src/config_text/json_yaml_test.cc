#include "config_text/json_yaml.h"

#include <random>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "base/testing/seed.h"
#include "config_text/yaml_writer.h"

namespace sluice::config_text {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const std::variant<std::string, YamlError>& converted) {
  if (const auto* error = std::get_if<YamlError>(&converted)) {
    return "error at " + std::to_string(error->position.line) + ":" +
           std::to_string(error->position.column) + ": " + error->message;
  }
  return std::get<std::string>(converted);
}

TEST(YamlAsJsonTest, KeepsTextsThatLookLikeNumbers) {
  EXPECT_EQ(TextOf(YamlAsJson("a: \"100\"\nb: 100\nc: 'true'\nd: true\ne: 1_000\nf: ~\ng: \"\"\n"
                              "h: 1.50\ni: .inf\nj: 0x10\nk: 007\nl: 1e400\nm: 10/s\n")),
            R"({
  "a": "100",
  "b": 100,
  "c": "true",
  "d": true,
  "e": "1_000",
  "f": null,
  "g": "",
  "h": 1.50,
  "i": ".inf",
  "j": "0x10",
  "k": "007",
  "l": 1e400,
  "m": "10/s"
}
)");
}

TEST(YamlAsJsonTest, RejectsDuplicateNames) {
  EXPECT_EQ(TextOf(YamlAsJson("a: 1\n\"a\": 2\n")), "error at 2:1: the name `a` is there twice");
  EXPECT_THAT(TextOf(YamlAsJson("? [a]\n: 1\n")), HasSubstr("expected a field's name"));
}

TEST(YamlAsJsonTest, BoundsTheExpansionOfAliases) {
  std::string yaml = "a0: &a0 " + std::string(1000, 'x') + "\n";
  for (int i = 1; i <= 5; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 19; ++k) yaml += ", " + before;
    yaml += "]\n";
  }
  EXPECT_THAT(TextOf(YamlAsJson(yaml)), HasSubstr("larger than"));
}

TEST(JsonAsYamlTest, WritesBlocks) {
  EXPECT_EQ(TextOf(JsonAsYaml(
                R"({"rules":[{"id":"a","per":["api_key","endpoint"],"limit":"100 per minute",)"
                R"("match":{"endpoint":"/v1/*"}},{"id":"b","limits":[{"limit":5,"window":"1s"}]}],)"
                R"("tiers":{"free":"10/s","none":null},"deny":[]})")),
            R"(rules:
  - id: a
    per: [api_key, endpoint]
    limit: 100 per minute
    match:
      endpoint: "/v1/*"
  - id: b
    limits:
      - limit: 5
        window: "1s"
tiers:
  free: 10/s
  none: null
deny: []
)");
}

TEST(JsonAsYamlTest, RefusesHostileInput) {
  EXPECT_THAT(TextOf(JsonAsYaml(R"({"a": 1,
 "a": 2})")),
              HasSubstr("error at 2:7: the name `a` is there twice"));
  EXPECT_THAT(TextOf(JsonAsYaml("{\"a\": NaN}")), HasSubstr("not JSON"));
  EXPECT_THAT(TextOf(JsonAsYaml("{\"a\": \"\x01\"}")), HasSubstr("not JSON"));
  EXPECT_THAT(TextOf(JsonAsYaml(std::string(100, '['))), HasSubstr("not JSON"));
  EXPECT_THAT(TextOf(JsonAsYaml("{\"" + std::string(2000, 'x') + "\": 1}")),
              HasSubstr("a name of more than"));
  EXPECT_THAT(TextOf(JsonAsYaml("")), HasSubstr("not JSON"));
}

class RandomJson {
 public:
  explicit RandomJson(unsigned seed) : random_(seed) {}

  std::string Make() {
    std::string out;
    JsonWriter json(out, JsonWriter::Style::kIndented);
    Value(json, 0);
    return out + "\n";
  }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  std::string Text() {
    static const char* const kPieces[] = {
        "a",   "id",   " ",          ":",        ": ",           "#",          " #",
        "\"",  "'",    "\\",         "-",        "- ",           "{",          "}",
        "[",   "]",    ",",          "&x",       "*x",           "!",          "|",
        ">",   "%",    "@",          "`",        "\n",           "\r\n",       "\t",
        "1",   "0x1F", "null",       "~",        "true",         "no",         "<<",
        "100", "1e5",  "2026-01-01", "é",        "\xE2\x80\xA8", "\x01",       "---",
        "...", "?",    "? ",         "\xC2\x85", "\xEF\xBB\xBF", "per minute", "/",
        "\x7F"};
    std::string text;
    const int count = Below(4);
    for (int i = 0; i < count; ++i) text += kPieces[Below(std::size(kPieces))];
    if (Below(50) == 0) text += std::string(1, '\0');
    return text;
  }

  void Value(JsonWriter& json, int depth) {
    static const char* const kLiterals[] = {
        "0", "-0", "1", "12.50", "1e99", "-3E-04", "1e999", "123456789012345678901234567890"};
    switch (Below(depth < 6 ? 8 : 5)) {
      case 0:
        json.Null();
        return;
      case 1:
        json.Bool(Below(2) == 0);
        return;
      case 2:
        json.Literal(kLiterals[Below(std::size(kLiterals))]);
        return;
      case 3:
      case 4:
        json.String(Text());
        return;
      case 5: {
        json.BeginArray();
        for (int left = Below(5); left > 0; --left) Value(json, depth + 1);
        json.EndArray();
        return;
      }
      default: {
        json.BeginObject();
        const int count = Below(5);
        for (int i = 0; i < count; ++i) {
          json.Key(Text() + std::to_string(i));
          Value(json, depth + 1);
        }
        json.EndObject();
        return;
      }
    }
  }

  std::mt19937 random_;
};

TEST(JsonAsYamlTest, RoundTripsEveryDocument) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomJson random(seed);
  for (int i = 0; i < 2000; ++i) {
    const std::string json = random.Make();
    const std::string yaml = TextOf(JsonAsYaml(json));
    ASSERT_EQ(TextOf(YamlAsJson(yaml)), json) << yaml;
  }
}

TEST(AppendYamlFlowTest, IsParsedAsTheSameValue) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomJson random(seed);
  for (int i = 0; i < 1000; ++i) {
    const auto tree = YamlTree::ParseJson(random.Make());
    std::string yaml = "[";
    AppendYamlFlow(*std::get<YamlTree>(tree).root(), yaml);
    yaml += "]";
    const auto read = YamlTree::Parse(yaml);
    ASSERT_TRUE(std::holds_alternative<YamlTree>(read))
        << yaml << std::get<YamlError>(read).message;
    ASSERT_TRUE(
        SameValue(*std::get<YamlTree>(read).root()->children[0], *std::get<YamlTree>(tree).root()))
        << yaml;
  }
}

}  // namespace
}  // namespace sluice::config_text
