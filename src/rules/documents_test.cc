// docs/rules.md and docs/rules.schema.json say what the reader does.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config_text/yaml_tree.h"
#include "rules/field_names.h"
#include "rules/testing/read.h"

namespace sluice::rules {
namespace {

using testing::Complaints;
using ::testing::Contains;

std::string Document(const std::string& name) {
  std::ifstream in(std::string(SLUICE_DOCS).append("/").append(name), std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> YamlBlocks(const std::string& text) {
  constexpr std::string_view kBegin = "```yaml\n";
  constexpr std::string_view kEnd = "\n```\n";
  std::vector<std::string> blocks;
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    blocks.push_back(text.substr(at, text.find(kEnd, at) + 1 - at));
  }
  return blocks;
}

const config_text::YamlNode* Child(const config_text::YamlNode* node, std::string_view name) {
  if (node == nullptr) return nullptr;
  for (std::size_t i = 0; i + 1 < node->children.size(); i += 2) {
    if (node->children[i]->text == name) return node->children[i + 1];
  }
  return nullptr;
}

TEST(RulesDocumentTest, EveryExampleLoadsWithoutDiagnostics) {
  const auto blocks = YamlBlocks(Document("rules.md"));
  EXPECT_GE(blocks.size(), 15U);
  for (const std::string& block : blocks) EXPECT_EQ(Complaints(block), "") << block;
}

TEST(RulesDocumentTest, EveryFieldIsExplained) {
  const std::string text = Document("rules.md");
  for (const auto& [kind, names] : AllFieldNames()) {
    for (const std::string_view name : names->all()) {
      const bool is_there = text.find(std::string("`").append(name)) != std::string::npos ||
                            text.find(std::string(name).append(":")) != std::string::npos ||
                            text.find(std::string(name).append(",")) != std::string::npos;
      EXPECT_TRUE(is_there) << kind << ": " << name;
    }
  }
}

TEST(RulesSchemaTest, HasTheFieldsOfTheReader) {
  // JSON is YAML.
  const auto parsed = config_text::YamlTree::Parse(Document("rules.schema.json"));
  ASSERT_TRUE(std::holds_alternative<config_text::YamlTree>(parsed))
      << std::get<config_text::YamlError>(parsed).message;
  const config_text::YamlNode* root = std::get<config_text::YamlTree>(parsed).root();
  for (const auto& [kind, names] : AllFieldNames()) {
    const config_text::YamlNode* schema = kind == "file" ? root : Child(Child(root, "$defs"), kind);
    const config_text::YamlNode* properties = Child(schema, "properties");
    ASSERT_NE(properties, nullptr) << kind;
    std::set<std::string_view> in_schema;
    for (std::size_t i = 0; i < properties->children.size(); i += 2) {
      in_schema.insert(properties->children[i]->text);
    }
    const std::set<std::string_view> in_reader(names->all().begin(), names->all().end());
    EXPECT_EQ(in_schema, in_reader) << kind;
    const config_text::YamlNode* others = Child(schema, "additionalProperties");
    ASSERT_NE(others, nullptr) << kind;
    EXPECT_EQ(others->text, "false") << kind;
  }
}

}  // namespace
}  // namespace sluice::rules
