// A document and a rule or tier, with "\n=====\n" between them: the document survives the way to
// JSON and back, and an edit either fails with words or changes nothing but the item.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config_text/json_yaml.h"
#include "config_text/yaml_tree.h"
#include "rules/document_edit.h"
#include "rules/reader.h"

namespace {

namespace config_text = sluice::config_text;
namespace rules = sluice::rules;

constexpr std::string_view kSeparator = "\n=====\n";

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::optional<std::string> AsJson(std::string_view yaml) {
  const auto json = config_text::YamlAsJson(yaml);
  if (const auto* error = std::get_if<config_text::YamlError>(&json)) {
    Require(!error->message.empty(), "a conversion fails without a word");
    return std::nullopt;
  }
  return std::get<std::string>(json);
}

void CheckRoundTrip(std::string_view yaml) {
  const auto json = AsJson(yaml);
  if (!json) return;
  Require(json->size() <= config_text::kMaxConvertedBytes + (std::size_t{8} << 20),
          "a document is larger than its bound");
  const auto back = config_text::JsonAsYaml(*json);
  // JSON is read less deep, and names of YAML are bounded.
  const auto* text = std::get_if<std::string>(&back);
  if (text == nullptr) return;
  Require(AsJson(*text) == json, "YAML to JSON to YAML to JSON is another document");
}

// The values of a document's fields that the edit has nothing to do with are the same.
void CheckOthers(std::string_view before, std::string_view after, bool is_tier) {
  const auto old_tree = config_text::YamlTree::Parse(before);
  const auto new_tree = config_text::YamlTree::Parse(after);
  Require(std::holds_alternative<config_text::YamlTree>(new_tree), "an edit makes no YAML");
  const auto& old_root = *std::get<config_text::YamlTree>(old_tree).root();
  const auto& new_root = *std::get<config_text::YamlTree>(new_tree).root();
  Require(new_root.children.size() >= old_root.children.size(), "an edit loses fields");
  for (std::size_t i = 0; i + 1 < old_root.children.size(); i += 2) {
    const std::string_view name = old_root.children[i]->text;
    Require(name == new_root.children[i]->text, "an edit changes the order of fields");
    if (is_tier ? name == "tiers" : name == "rules" || name == "rate_limits") continue;
    Require(SameValue(*old_root.children[i + 1], *new_root.children[i + 1]),
            "an edit changes another field");
  }
}

void CheckEdit(std::string_view document, const rules::EditResult& result, bool is_tier) {
  Require(result.ok() == result.error.empty(), "an edit fails without a word");
  if (!result.ok()) return;
  CheckOthers(document, result.text, is_tier);
  (void)rules::Read("rules", result.text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t at = input.find(kSeparator);
  const std::string_view document = input.substr(0, at);
  const std::string_view item =
      at == std::string_view::npos ? std::string_view() : input.substr(at + kSeparator.size());
  CheckRoundTrip(document);
  CheckRoundTrip(item);
  for (const auto format : {rules::TextFormat::kYaml, rules::TextFormat::kJson}) {
    const rules::EditResult put = rules::PutRule(document, "a", item, format);
    CheckEdit(document, put, false);
    if (put.ok()) {
      Require(rules::RemoveRule(put.text, "a").failure != rules::EditFailure::kNotFound,
              "a rule that was put is not there");
    }
    CheckEdit(document, rules::PutRule(document, "new", item, format), false);
    CheckEdit(document, rules::PutTier(document, "pro", item, format), true);
  }
  CheckEdit(document, rules::RemoveRule(document, "a"), false);
  CheckEdit(document, rules::RemoveTier(document, "pro"), true);
  return 0;
}
