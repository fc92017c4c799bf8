#include "config_text/json_yaml.h"

#include <optional>
#include <unordered_set>
#include <utility>

#include "base/json_writer.h"
#include "config_text/suggestion.h"
#include "config_text/yaml_writer.h"

namespace sluice::config_text {
namespace {

/// YAML finds no names that are longer, escapes included.
constexpr std::size_t kMaxNameBytes = 1000;

std::optional<YamlError> WriteJson(const YamlNode& node, JsonWriter& json, const std::string& out) {
  if (out.size() > kMaxConvertedBytes) {
    return YamlError{node.position, "aliases included, it is larger than " +
                                        std::to_string(kMaxConvertedBytes) + " bytes"};
  }
  switch (node.kind) {
    case YamlKind::kNull:
      json.Null();
      return std::nullopt;
    case YamlKind::kScalar:
      if (!node.quoted && IsJsonWord(node.text)) {
        json.Literal(node.text);
      } else {
        json.String(node.text);
      }
      return std::nullopt;
    case YamlKind::kSequence:
      json.BeginArray();
      for (const YamlNode* item : node.children) {
        if (auto error = WriteJson(*item, json, out)) return error;
      }
      json.EndArray();
      return std::nullopt;
    case YamlKind::kMapping:
      break;
  }
  std::unordered_set<std::string_view> names;
  json.BeginObject();
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const YamlNode& name = *node.children[i];
    if (name.kind != YamlKind::kScalar) {
      return YamlError{name.position, "expected a field's name"};
    }
    if (!names.insert(name.text).second) {
      return YamlError{name.position, "the name " + Shown(name.text) + " is there twice"};
    }
    json.Key(name.text);
    if (auto error = WriteJson(*node.children[i + 1], json, out)) return error;
  }
  json.EndObject();
  return std::nullopt;
}

std::optional<YamlError> FindLongName(const YamlNode& node) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const YamlNode& child = *node.children[i];
    if (node.kind == YamlKind::kMapping && i % 2 == 0 &&
        QuotedYaml(child.text).size() > kMaxNameBytes) {
      return YamlError{child.position,
                       "a name of more than " + std::to_string(kMaxNameBytes) + " bytes"};
    }
    if (auto error = FindLongName(child)) return error;
  }
  return std::nullopt;
}

}  // namespace

std::variant<std::string, YamlError> YamlAsJson(std::string_view yaml) {
  const auto parsed = YamlTree::Parse(yaml);
  if (const auto* error = std::get_if<YamlError>(&parsed)) return *error;
  const YamlNode* root = std::get<YamlTree>(parsed).root();
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kIndented);
  if (root == nullptr) {
    json.Null();
  } else if (auto error = WriteJson(*root, json, out)) {
    return *std::move(error);
  }
  out += '\n';
  return out;
}

std::variant<std::string, YamlError> JsonAsYaml(std::string_view json) {
  const auto parsed = YamlTree::ParseJson(json);
  if (const auto* error = std::get_if<YamlError>(&parsed)) return *error;
  const YamlNode& root = *std::get<YamlTree>(parsed).root();
  if (auto error = FindLongName(root)) return *std::move(error);
  std::string out;
  AppendYamlBlock(root, 0, BlockStart::kLine, out);
  return out;
}

}  // namespace sluice::config_text
