#include "config_text/yaml_tree.h"

#include <string>
#include <string_view>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::config_text {
namespace {

using ::testing::HasSubstr;

void Write(const YamlNode& node, std::string& out) {
  switch (node.kind) {
    case YamlKind::kNull:
      out += "null";
      return;
    case YamlKind::kScalar:
      out += node.quoted ? '"' + std::string(node.text) + '"' : std::string(node.text);
      return;
    case YamlKind::kSequence:
      out += '[';
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        if (i > 0) out += ' ';
        Write(*node.children[i], out);
      }
      out += ']';
      return;
    case YamlKind::kMapping:
      out += '{';
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        if (i > 0) out += i % 2 == 1 ? ":" : " ";
        Write(*node.children[i], out);
      }
      out += '}';
      return;
  }
}

std::string Parsed(std::string_view text) {
  const auto parsed = YamlTree::Parse(text);
  if (const auto* error = std::get_if<YamlError>(&parsed)) {
    return std::to_string(error->position.line) + ":" + std::to_string(error->position.column) +
           " " + error->message;
  }
  const YamlNode* root = std::get<YamlTree>(parsed).root();
  if (root == nullptr) return "no document";
  std::string out;
  Write(*root, out);
  return out;
}

TEST(YamlTreeTest, BlocksAndFlowsBecomeTheSameTree) {
  EXPECT_EQ(Parsed("a:\n  - 1\n  - b: 2\nc: \"x y\"\n"), R"({a:[1 {b:2}] c:"x y"})");
  EXPECT_EQ(Parsed("{a: [1, {b: 2}], c: \"x y\"}"), R"({a:[1 {b:2}] c:"x y"})");
}

TEST(YamlTreeTest, AnEmptyValueIsNullUnlessQuoted) {
  EXPECT_EQ(Parsed("[~, null, '', \"null\", '~']"), R"([null null "" "null" "~"])");
  EXPECT_EQ(Parsed("a:\nb: 1"), "{a:null b:1}");
}

TEST(YamlTreeTest, AFileOfCommentsHasNoRoot) {
  EXPECT_EQ(Parsed(""), "no document");
  EXPECT_EQ(Parsed("# Later.\n"), "no document");
}

TEST(YamlTreeTest, EveryValueHasItsPosition) {
  const auto parsed = YamlTree::Parse("a: 1\nb:\n  - x\n  - {c: \"y\"}\n");
  const YamlNode& root = *std::get<YamlTree>(parsed).root();
  const YamlNode& list = *root.children[3];
  EXPECT_EQ(root.children[0]->position, (Position{1, 1}));
  EXPECT_EQ(root.children[1]->position, (Position{1, 4}));
  EXPECT_EQ(list.children[0]->position, (Position{3, 5}));
  EXPECT_EQ(list.children[1]->children[1]->position, (Position{4, 9}));
}

TEST(YamlTreeTest, AByteOrderMarkDoesNotCount) {
  const auto parsed = YamlTree::Parse(
      "\xEF\xBB\xBF"
      "a: 1\n");
  EXPECT_EQ(std::get<YamlTree>(parsed).root()->children[1]->position, (Position{1, 4}));
}

TEST(YamlTreeTest, AnAliasIsTheSameValueAgain) {
  EXPECT_EQ(Parsed("a: &x [1, 2]\nb: *x\n"), "{a:[1 2] b:[1 2]}");
  EXPECT_EQ(Parsed("a: &x 1\nb: &x 2\nc: *x\n"), "{a:1 b:2 c:2}");
}

TEST(YamlTreeTest, AnAliasOfItselfIsRefused) {
  EXPECT_EQ(Parsed("a: &x [1, *x]\n"), "1:11 an alias of what it is part of");
}

TEST(YamlTreeTest, OwnFieldsOverrideMergedOnes) {
  EXPECT_EQ(Parsed("a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x, r: 4}\n"),
            "{a:{p:1 q:2} b:{q:3 r:4 p:1}}");
}

TEST(YamlTreeTest, OfSeveralMergedMappingsTheFirstWins) {
  EXPECT_EQ(Parsed("[&x {p: 1}, &y {p: 2, q: 2}, {<<: [*x, *y]}]"), "[{p:1} {p:2 q:2} {p:1 q:2}]");
}

TEST(YamlTreeTest, AQuotedMergeKeyIsAnOrdinaryKey) {
  EXPECT_EQ(Parsed("{'<<': 1}"), R"({"<<":1})");
}

TEST(YamlTreeTest, OnlyMappingsCanBeMerged) {
  EXPECT_EQ(Parsed("a: {<<: [1]}"), "1:9 <<: expected a mapping, or a list of mappings");
}

TEST(YamlTreeTest, AQuoteThatIsNeverClosedIsRefused) {
  EXPECT_EQ(Parsed("a: 'x'\nb: \"y\n"), "2:4 not YAML: the quote is never closed");
  EXPECT_EQ(Parsed("b: 'it''s\n"), "1:4 not YAML: the quote is never closed");
  EXPECT_EQ(Parsed("b: &x \"y\\\"\n"), "1:4 not YAML: the quote is never closed");
  EXPECT_EQ(Parsed("b: 'it''s'"), "{b:\"it's\"}");
  EXPECT_EQ(Parsed("b: |\n  \"text"), "{b:\"\"text\"}");
}

TEST(YamlTreeTest, DeepNestingIsRejectedWithoutRecursion) {
  for (const char* open : {"[", "{a: ", "- ", "? "}) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += open;
    EXPECT_THAT(Parsed(text), HasSubstr("nested deeper than 64 levels")) << open;
  }
}

TEST(YamlTreeTest, BracketsAndCommasAreBounded) {
  for (const char* repeated : {"[", "{", "a,", "[],"}) {
    std::string text = "a: [\n";
    while (text.size() < (std::size_t{4} << 20)) text += repeated;
    EXPECT_THAT(Parsed(text), HasSubstr("more than 1000000 brackets and commas in one document"));
  }
}

TEST(YamlTreeTest, AliasesOfAliasesAreBounded) {
  std::string text = "- &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "- &a" + std::to_string(i) + " [" + last + ", " + last + "]\n";
  }
  EXPECT_THAT(Parsed(text), HasSubstr("more than 20000000 values"));
}

TEST(YamlTreeTest, MergesOfMergesAreBounded) {
  std::string text = "- &m {";
  for (int i = 0; i < 1'000; ++i) text += "k" + std::to_string(i) + ": 1, ";
  text += "z: 1}\n";
  for (int i = 0; i < 1'000; ++i) text += "- {<<: *m}\n";
  EXPECT_THAT(Parsed(text), HasSubstr("merged too often"));
}

TEST(YamlTreeTest, TextThatIsNotUtf8IsRefusedWhereItIs) {
  EXPECT_EQ(Parsed("a: 1\nb: \xFF\n"),
            "2:4 found the byte 0xFF, which is not UTF-8; rule files are plain text in UTF-8");
  for (const char* bad : {"\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC3",
                          "\xE2\x82", "\xF0\x9F\x92", "\x80"}) {
    EXPECT_THAT(Parsed(std::string("x: ") + bad), HasSubstr("not UTF-8"));
  }
  EXPECT_EQ(Parsed("[é, €, 💧]"), "[é € 💧]");
}

TEST(YamlTreeTest, ControlCharactersAreRefused) {
  EXPECT_THAT(Parsed(std::string_view("a: \0b", 5)),
              HasSubstr("0x00, which is a control character"));
  EXPECT_THAT(Parsed("a: \x04 b"), HasSubstr("control character"));
  EXPECT_EQ(Parsed("a:\t1\r\n"), "{a:1}");
}

TEST(YamlTreeTest, ASecondDocumentIsRefused) {
  EXPECT_EQ(Parsed("a: 1\n---\nb: 1\n"), "2:1 a second document; a rule file is one document");
  EXPECT_EQ(Parsed("---\na: 1\n...\n"), "{a:1}");
}

}  // namespace
}  // namespace sluice::config_text
