#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/json_reader.h"
#include "config_text/suggestion.h"
#include "config_text/yaml_text.h"
#include "config_text/yaml_tree.h"

namespace sluice::config_text {
/// Makes a tree of a JSON document. The recursion is as deep as JsonDocument allows.
class JsonTreeBuilder {
 public:
  JsonTreeBuilder(YamlTree& tree, std::string_view text) : tree_(tree), text_(text) {
    tree_.memory_ = std::make_unique<std::pmr::monotonic_buffer_resource>(std::size_t{1} << 16);
  }

  std::optional<YamlError> Build(const JsonValue& value) {
    tree_.root_ = Make(value);
    return std::move(error_);
  }

 private:
  YamlNode* New(YamlKind kind, const JsonValue& value) {
    void* place = tree_.memory_->allocate(sizeof(YamlNode), alignof(YamlNode));
    const auto offset = static_cast<std::size_t>(value.raw().data() - text_.data());
    // Values come in the order of the text: each line is counted once.
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_begin_ = counted_ + 1;
    }
    return new (place) YamlNode{.kind = kind,
                                .position = {line_, static_cast<int>(offset - line_begin_) + 1},
                                .offset = static_cast<std::uint32_t>(offset)};
  }

  std::string_view Keep(std::string_view text) {
    if (text.empty()) return {};
    char* copy = static_cast<char*>(tree_.memory_->allocate(text.size(), 1));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }

  const YamlNode* Make(const JsonValue& value) {
    switch (value.kind()) {
      case JsonValue::Kind::kNull:
        return New(YamlKind::kNull, value);
      case JsonValue::Kind::kArray:
      case JsonValue::Kind::kObject:
        return MakeCollection(value);
      case JsonValue::Kind::kString: {
        YamlNode* node = New(YamlKind::kScalar, value);
        node->quoted = true;
        node->text = Keep(*value.String());
        return node;
      }
      case JsonValue::Kind::kFalse:
      case JsonValue::Kind::kTrue:
      case JsonValue::Kind::kNumber:
        break;
    }
    YamlNode* node = New(YamlKind::kScalar, value);
    node->text = Keep(value.raw());
    return node;
  }

  const YamlNode* MakeCollection(const JsonValue& value) {
    const bool is_object = value.is_object();
    YamlNode* node = New(is_object ? YamlKind::kMapping : YamlKind::kSequence, value);
    node->flow = true;
    const std::size_t count = value.size() * (is_object ? 2 : 1);
    if (count == 0) return node;
    auto** children = static_cast<const YamlNode**>(
        tree_.memory_->allocate(count * sizeof(const YamlNode*), alignof(const YamlNode*)));
    std::unordered_set<std::string_view> names;
    std::size_t next = 0;
    for (const JsonValue child : value) {
      if (is_object) {
        YamlNode* name = New(YamlKind::kScalar, child);
        name->quoted = true;
        name->text = Keep(child.name());
        if (!names.insert(name->text).second && !error_) {
          error_ = {name->position, "the name " + Shown(name->text) + " is there twice"};
        }
        children[next++] = name;
      }
      children[next] = Make(child);
      node->weight += children[next++]->weight;
    }
    node->children = {children, count};
    return node;
  }

  YamlTree& tree_;
  std::string_view text_;
  std::size_t counted_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  std::optional<YamlError> error_;
};

std::variant<YamlTree, YamlError> YamlTree::ParseJson(std::string_view text) {
  JsonDocument document;
  const std::optional<JsonValue> value = document.Parse(text);
  if (!value) {
    return YamlError{PositionOf(text, document.error_at()),
                     "not JSON: " + std::string(document.error())};
  }
  YamlTree tree;
  if (auto error = JsonTreeBuilder(tree, text).Build(*value)) return *std::move(error);
  return tree;
}

}  // namespace sluice::config_text
