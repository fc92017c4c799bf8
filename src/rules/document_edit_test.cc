#include "rules/document_edit.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "rules/difference.h"
#include "rules/reader.h"
#include "rules/testing/random_document.h"
#include "rules/testing/read.h"

namespace sluice::rules {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kDocument = R"(# Our rules.
tiers:
  free: 10 per minute   # for everybody
  pro: { limit: 100 per minute, burst_multiplier: 2 }
rules:
  # The first.
  - id: orders
    match: { endpoint: "/v1/orders" }
    limit: 100 per minute   # agreed
    override:
      sk_1: 1000 per minute

  # The second.
  - { id: search, limit: 10/s }

# The end.
deny: [sk_bad]
)";

std::string TextOf(const EditResult& result) {
  return result.ok() ? result.text : "error: " + result.error;
}

std::string Replaced(std::string_view from, std::string_view to) {
  std::string text(kDocument);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(PutRuleTest, ReplacesTheLinesOfARule) {
  EXPECT_EQ(
      TextOf(PutRule(kDocument, "orders", R"({"limit": "50 per minute"})", TextFormat::kJson)),
      Replaced(R"(  - id: orders
    match: { endpoint: "/v1/orders" }
    limit: 100 per minute   # agreed
    override:
      sk_1: 1000 per minute
)",
               R"(  - id: orders
    limit: 50 per minute
)"));
}

TEST(PutRuleTest, KeepsTheTextOfARuleInYaml) {
  EXPECT_EQ(TextOf(PutRule(kDocument, "search", "id: search\n# slower\nlimit: 5/s  # for now\n\n",
                           TextFormat::kYaml)),
            Replaced("  - { id: search, limit: 10/s }\n",
                     "  - id: search\n    # slower\n    limit: 5/s  # for now\n"));
}

TEST(PutRuleTest, AddsANewRuleAfterTheLast) {
  const EditResult result =
      PutRule(kDocument, "login", "limit: 5/m\nper: [ip]\n", TextFormat::kYaml);
  EXPECT_EQ(TextOf(result),
            Replaced("  - { id: search, limit: 10/s }\n",
                     "  - { id: search, limit: 10/s }\n  - id: login\n    limit: 5/m\n"
                     "    per: [ip]\n"));
  EXPECT_TRUE(result.created);
}

TEST(PutRuleTest, WritesRulesIntoEveryKindOfList) {
  const auto put = [](std::string_view document) {
    return TextOf(PutRule(document, "b", R"({"limit":"2/s","per":["ip"]})", TextFormat::kJson));
  };
  EXPECT_EQ(put("rules: []  # none\ndeny: x\n"),
            "rules:  # none\n  - id: b\n    limit: 2/s\n    per: [ip]\ndeny: x\n");
  EXPECT_EQ(put("rules: []"), "rules:\n  - id: b\n    limit: 2/s\n    per: [ip]");
  EXPECT_EQ(put("deny: x\n"), "deny: x\nrules:\n  - id: b\n    limit: 2/s\n    per: [ip]\n");
  EXPECT_EQ(put("deny: x\n...\n"),
            "deny: x\nrules:\n  - id: b\n    limit: 2/s\n    per: [ip]\n...\n");
  EXPECT_EQ(put("rules: [{id: a, limit: 1/s}, {id: b, limit: 1/s} # b\n ]\n"),
            "rules: [{id: a, limit: 1/s}, {id: b, limit: 2/s, per: [ip]} # b\n ]\n");
  EXPECT_EQ(put(R"({"rules": [{"id": "a", "limit": "1/s"}]})"),
            R"({"rules": [{"id": "a", "limit": "1/s"}, {id: b, limit: 2/s, per: [ip]}]})");
  EXPECT_EQ(put(R"({"deny": ["x"]})"),
            R"({"deny": ["x"], rules: [{id: b, limit: 2/s, per: [ip]}]})");
  EXPECT_EQ(put("rate_limits:\r\n- name: b\r\n  limit: 1/s\r\n- name: c\r\n  limit: 1/s"),
            "rate_limits:\r\n- id: b\r\n  limit: 2/s\r\n  per: [ip]\r\n- name: c\r\n  limit: 1/s");
  EXPECT_EQ(put("rules:\n  -\n    # its comment\n    id: b\n    limit: 1/s\n"),
            "rules:\n  - id: b\n    limit: 2/s\n    per: [ip]\n");
}

TEST(PutRuleTest, RejectsInvalidRules) {
  const auto put = [](std::string_view rule, TextFormat format) {
    const EditResult result = PutRule(kDocument, "orders", rule, format);
    EXPECT_EQ(result.failure, EditFailure::kInvalidItem);
    return std::to_string(result.line) + ":" + std::to_string(result.column) + " " + result.error;
  };
  EXPECT_THAT(put("{\"id\": \"other\"}", TextFormat::kJson), HasSubstr("1:8 has the id `other`"));
  EXPECT_THAT(put("{\"limit\": 1,\n \"limit\": 2}", TextFormat::kJson), HasSubstr("2:11 "));
  EXPECT_THAT(put("[1]", TextFormat::kJson), HasSubstr("expected the fields"));
  EXPECT_THAT(put("", TextFormat::kYaml), HasSubstr("expected the fields"));
  EXPECT_THAT(put("a: [", TextFormat::kYaml), HasSubstr("not YAML"));
  EXPECT_THAT(put("{a: 1}", TextFormat::kJson), HasSubstr("not JSON"));
}

TEST(PutRuleTest, DoesNotEditAliasedEntries) {
  const std::string document =
      "x-one: &one { id: a, limit: 1/s }\nrules:\n  - *one\n  - id: b\n    limit: &l 1/s\n"
      "  - id: c\n    limit: *l\n";
  EXPECT_EQ(PutRule(document, "a", "{limit: 2/s}", TextFormat::kYaml).failure,
            EditFailure::kNotEditable);
  EXPECT_EQ(PutRule(document, "b", "{limit: 2/s}", TextFormat::kYaml).failure,
            EditFailure::kNotEditable);
  EXPECT_TRUE(PutRule(document, "c", "{limit: 2/s}", TextFormat::kYaml).ok());
}

TEST(RemoveRuleTest, RemovesTheLinesOfARule) {
  EXPECT_EQ(TextOf(RemoveRule(kDocument, "search")),
            Replaced("  - { id: search, limit: 10/s }\n", ""));
  EXPECT_EQ(TextOf(RemoveRule("rules: # all\n  - id: a\n    limit: 1/s\n# end\n", "a")),
            "rules: [] # all\n# end\n");
  EXPECT_EQ(TextOf(RemoveRule("rules: [{id: a, limit: 1/s}, {id: b, limit: 1/s}]", "a")),
            "rules: [{id: b, limit: 1/s}]");
  EXPECT_EQ(TextOf(RemoveRule("rules: [{id: a, limit: 1/s}, {id: b, limit: 1/s}]", "b")),
            "rules: [{id: a, limit: 1/s}]");
  EXPECT_EQ(
      TextOf(RemoveRule("rules: [\n  {id: a, limit: 1/s}, # x\n  {id: b, limit: 1/s},\n]", "b")),
      "rules: [\n  {id: a, limit: 1/s}, # x\n]");
  EXPECT_EQ(RemoveRule(kDocument, "none").failure, EditFailure::kNotFound);
}

TEST(PutTierTest, KeepsTheWindowOfTheTier) {
  EXPECT_EQ(TextOf(PutTier(kDocument, "pro", R"({"limit": 500})", TextFormat::kJson)),
            Replaced("  pro: { limit: 100 per minute, burst_multiplier: 2 }\n",
                     "  pro:\n    limit: 500 per minute\n"));
  EXPECT_EQ(TextOf(PutTier(kDocument, "free", "20", TextFormat::kJson)),
            Replaced("  free: 10 per minute   # for everybody\n", "  free: 20 per minute\n"));
  EXPECT_EQ(TextOf(PutTier("tiers: {pro: {limit: 5, window: 60}}\nrules: [{id: a}]\n", "pro",
                           R"({"limit": 500})", TextFormat::kJson)),
            "tiers: {pro: {limit: 500, window: 60}}\nrules: [{id: a}]\n");
  EXPECT_EQ(TextOf(PutTier(kDocument, "free", "limit: 7/s\n", TextFormat::kYaml)),
            Replaced("  free: 10 per minute   # for everybody\n", "  free:\n    limit: 7/s\n"));
}

TEST(PutTierTest, AddsAndRemovesTiers) {
  const std::string added =
      Replaced("burst_multiplier: 2 }\n", "burst_multiplier: 2 }\n  big: 1000/s\n");
  const EditResult result = PutTier(kDocument, "big", "\"1000/s\"", TextFormat::kJson);
  EXPECT_EQ(TextOf(result), added);
  EXPECT_TRUE(result.created);
  EXPECT_EQ(TextOf(RemoveTier(added, "big")), kDocument);
  EXPECT_EQ(TextOf(PutTier("rules: []\n", "a", "null", TextFormat::kJson)),
            "rules: []\ntiers:\n  a: null\n");
  EXPECT_EQ(TextOf(RemoveTier("tiers:\n  a:\n", "a")), "tiers: {}\n");
  EXPECT_EQ(RemoveTier("rules: []\n", "a").failure, EditFailure::kNotFound);
}

// Whether the second text is the first one with insertions.
bool IsSubsequence(std::string_view small, std::string_view large) {
  std::size_t at = 0;
  for (const char c : large) {
    if (at < small.size() && small[at] == c) ++at;
  }
  return at == small.size();
}

TEST(DocumentEditTest, ChangesOneRuleOfAnyDocument) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  testing::RandomDocument random(seed);
  int edited = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string document = random.Make();
    const ReadResult before = Read("f", document);
    ASSERT_TRUE(before.file) << document << Describe(before.errors.front());
    const std::string id = "r" + std::to_string(random.Below(6));
    const std::string rule = random.Rule(id);
    const EditResult put = PutRule(document, id, rule, TextFormat::kYaml);
    ASSERT_TRUE(put.ok()) << put.error << "\n" << document << "\n" << rule;
    const ReadResult after = Read("f", put.text);
    ASSERT_TRUE(after.file) << put.text << Describe(after.errors.front());
    for (const DifferenceRow& row : Compare(*before.file, *after.file)) {
      EXPECT_EQ(row.rule, id) << row.field << "\n" << document << put.text;
    }
    // All comments that do not belong to the rule are there.
    if (put.created && document.find("[]") == std::string::npos) {
      EXPECT_TRUE(IsSubsequence(document, put.text)) << document << "---\n" << put.text;
    }
    const EditResult removed = RemoveRule(put.text, id);
    ASSERT_TRUE(removed.ok()) << removed.error << "\n" << put.text;
    EXPECT_TRUE(IsSubsequence(removed.text, put.text) ||
                removed.text.find("[]") != std::string::npos)
        << put.text << "---\n"
        << removed.text;
    const ReadResult without = Read("f", removed.text);
    ASSERT_TRUE(without.file) << removed.text;
    const std::vector<DifferenceRow> rows = Compare(*after.file, *without.file);
    ASSERT_EQ(rows.size(), 1U) << removed.text;
    EXPECT_EQ(rows[0].rule, id);
    EXPECT_EQ(rows[0].effect, ChangeEffect::kGone);
    ++edited;
  }
  EXPECT_EQ(edited, 500);
}

TEST(DocumentEditTest, ChangesOneTierOfAnyDocument) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  testing::RandomDocument random(seed);
  for (int i = 0; i < 500; ++i) {
    const std::string document = random.Make();
    const std::string name = "t" + std::to_string(random.Below(5));
    const std::string tier = random.Tier();
    const EditResult put = PutTier(document, name, tier, TextFormat::kYaml);
    ASSERT_TRUE(put.ok()) << put.error << "\n" << document << "\n" << tier;
    const EditResult removed = RemoveTier(put.text, name);
    ASSERT_TRUE(removed.ok()) << removed.error << "\n" << put.text;
    EXPECT_EQ(std::count(removed.text.begin(), removed.text.end(), '#'),
              std::count(put.text.begin(), put.text.end(), '#'))
        << put.text << "---\n"
        << removed.text;
  }
}

}  // namespace
}  // namespace sluice::rules
