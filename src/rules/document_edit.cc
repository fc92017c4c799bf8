#include "rules/document_edit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/ascii.h"
#include "config_text/suggestion.h"
#include "config_text/yaml_edit.h"
#include "config_text/yaml_tree.h"

namespace sluice::rules {
namespace {

using config_text::SameValue;
using config_text::YamlEntry;
using config_text::YamlError;
using config_text::YamlKind;
using config_text::YamlNode;
using config_text::YamlSource;
using config_text::YamlTree;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

EditResult Failed(EditFailure failure, std::string error, config_text::Position position = {}) {
  return {.failure = failure,
          .error = std::move(error),
          .line = position.line,
          .column = position.column};
}

EditResult NotEditable(std::string_view reason) {
  return Failed(EditFailure::kNotEditable,
                "the document can't be edited in place: " + std::string(reason) +
                    "; change the whole document instead");
}

// The index of the name among the children of a mapping, or kAbsent.
std::size_t FindName(const YamlNode& mapping, std::string_view name) {
  for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
    const YamlNode& key = *mapping.children[i];
    if (key.kind == YamlKind::kScalar && key.text == name) return i;
  }
  return kAbsent;
}

const YamlNode* FindValue(const YamlNode& mapping, std::string_view name) {
  const std::size_t index = FindName(mapping, name);
  return index == kAbsent ? nullptr : mapping.children[index + 1];
}

// The node with a rule's id, or nullptr.
const YamlNode* IdOf(const YamlNode& rule) {
  if (rule.kind != YamlKind::kMapping) return nullptr;
  const YamlNode* id = FindValue(rule, "id");
  return id != nullptr ? id : FindValue(rule, "name");
}

YamlNode TextNode(std::string_view text) {
  return {.kind = YamlKind::kScalar, .quoted = true, .text = text};
}

/// A mapping with some of its fields changed. Lives as long as the nodes that it has.
class ChangedMapping {
 public:
  explicit ChangedMapping(const YamlNode& mapping)
      : node_(mapping), children_(mapping.children.begin(), mapping.children.end()) {}

  void Prepend(const YamlNode& name, const YamlNode& value) {
    children_.insert(children_.begin(), {&name, &value});
  }
  void Append(const YamlNode& name, const YamlNode& value) {
    children_.insert(children_.end(), {&name, &value});
  }
  void Set(std::size_t index, const YamlNode& value) { children_[index + 1] = &value; }

  const YamlNode& node() {
    node_.children = children_;
    return node_;
  }

 private:
  YamlNode node_;
  std::vector<const YamlNode*> children_;
};

/// A change of one entry of a root's field.
struct EntryChange {
  std::string_view field;  ///< "rules", "rate_limits" or "tiers".
  YamlKind kind = YamlKind::kSequence;
  std::size_t index = kAbsent;      ///< kAbsent: a new entry, behind the last one.
  std::string_view name{};          ///< Of a tier.
  const YamlNode* value = nullptr;  ///< nullptr: the entry is removed.
};

// Whether `after` is `before` with the change.
bool HasOnlyChange(const YamlNode& before, const YamlNode& after, const EntryChange& change) {
  std::vector<const YamlNode*> root(before.children.begin(), before.children.end());
  const YamlNode field_name = TextNode(change.field);
  const YamlNode entry_name = TextNode(change.name);
  YamlNode collection{.kind = change.kind};
  std::vector<const YamlNode*> entries;
  std::size_t field = FindName(before, change.field);
  if (field == kAbsent) {
    field = root.size();
    root.insert(root.end(), {&field_name, &collection});
  } else {
    const auto old = root[field + 1]->children;
    entries.assign(old.begin(), old.end());
    root[field + 1] = &collection;
  }
  const std::size_t size = change.kind == YamlKind::kMapping ? 2 : 1;
  auto at = change.index == kAbsent
                ? entries.end()
                : entries.begin() + static_cast<std::ptrdiff_t>(size * change.index);
  if (change.index != kAbsent) at = entries.erase(at, at + static_cast<std::ptrdiff_t>(size));
  if (change.value != nullptr) {
    at = entries.insert(at, change.value);
    if (size == 2) entries.insert(at, &entry_name);
  }
  collection.children = entries;
  YamlNode expected{.kind = YamlKind::kMapping};
  expected.children = root;
  return SameValue(expected, after);
}

/// A document that is being edited.
class Document {
 public:
  explicit Document(std::string_view text) : text_(text) {
    if (text_.starts_with(kByteOrderMark)) {
      mark_ = kByteOrderMark;
      text_.remove_prefix(kByteOrderMark.size());
    }
    auto parsed = YamlTree::Parse(text_);
    if (auto* tree = std::get_if<YamlTree>(&parsed)) tree_ = std::move(*tree);
  }

  /// nullptr: it is not a mapping.
  [[nodiscard]] const YamlNode* root() const {
    const YamlNode* root = tree_.root();
    return root != nullptr && root->kind == YamlKind::kMapping ? root : nullptr;
  }

  /// `lines`: the new value as it is written, to be kept if possible; may be empty.
  [[nodiscard]] EditResult Apply(const EntryChange& change, std::string_view lines) const {
    if (!lines.empty()) {
      EditResult result = Try(change, lines);
      if (result.ok()) return result;
    }
    return Try(change, {});
  }

 private:
  [[nodiscard]] EditResult Try(const EntryChange& change, std::string_view lines) const {
    const YamlSource source{.text = text_, .root = root()};
    const YamlEntry entry{.name = change.name, .value = change.value, .lines = lines};
    const std::size_t field = FindName(*source.root, change.field);
    std::optional<std::string> edited;
    if (field == kAbsent) {
      edited = AddField(source, change.field, change.kind, entry);
    } else if (change.index == kAbsent) {
      edited = AddEntry(source, field, entry);
    } else if (change.value == nullptr) {
      edited = RemoveEntry(source, field, change.index);
    } else {
      edited = ReplaceEntry(source, field, change.index, entry);
    }
    if (!edited) return NotEditable("the lines of the entry can't be determined");
    const auto parsed = YamlTree::Parse(*edited);
    if (const auto* error = std::get_if<YamlError>(&parsed)) {
      return NotEditable("the result would be " + error->message);
    }
    const YamlNode* after = std::get<YamlTree>(parsed).root();
    if (after == nullptr || !HasOnlyChange(*source.root, *after, change)) {
      return NotEditable("other parts of it would change");
    }
    return {.text = std::string(mark_) + *std::move(edited), .created = change.index == kAbsent};
  }

  std::string_view mark_;
  std::string_view text_;
  YamlTree tree_;
};

struct FoundRule {
  std::string_view field = "rules";
  std::size_t index = kAbsent;
};

FoundRule FindRule(const YamlNode& root, std::string_view id) {
  static constexpr std::array<std::string_view, 2> kFields{"rules", "rate_limits"};
  for (const std::string_view field : kFields) {
    const YamlNode* list = FindValue(root, field);
    if (list == nullptr || list->kind != YamlKind::kSequence) continue;
    for (std::size_t i = 0; i < list->children.size(); ++i) {
      const YamlNode* found = IdOf(*list->children[i]);
      if (found != nullptr && found->text == id) return {field, i};
    }
  }
  return {};
}

// The mapping with all tiers; nullptr: none.
const YamlNode* FindTiers(const YamlNode& root) {
  const YamlNode* tiers = FindValue(root, "tiers");
  return tiers != nullptr && tiers->kind == YamlKind::kMapping ? tiers : nullptr;
}

std::variant<YamlTree, YamlError> ParseItem(std::string_view text, TextFormat format) {
  return format == TextFormat::kJson ? YamlTree::ParseJson(text) : YamlTree::Parse(text);
}

// Returns the lines of an item if they can be inserted verbatim; else nothing.
std::string_view UsableLines(std::string_view text, TextFormat format, const YamlNode& item) {
  const bool is_block = format == TextFormat::kYaml && item.kind == YamlKind::kMapping &&
                        !item.flow && item.offset == 0 && !text.starts_with(kByteOrderMark);
  if (!is_block || text.find('\t') != std::string_view::npos) return {};
  for (const std::string_view mark : {"---", "...", "%"}) {
    if (text.starts_with(mark) || text.find("\n" + std::string(mark)) != std::string_view::npos) {
      return {};
    }
  }
  const std::size_t last = text.find_last_not_of(" \r\n");
  return text.substr(0, last + 1);
}

bool IsWhole(const YamlNode& node) {
  if (node.kind != YamlKind::kScalar || node.text.empty()) return false;
  for (const char c : node.text) {
    if (!IsDigit(c) && c != '_') return false;
  }
  return true;
}

// The window of a rate such as "100 per minute" or "10/s", as it is written; empty: none.
std::string_view WindowOf(const YamlNode* limit) {
  if (limit == nullptr || limit->kind != YamlKind::kScalar) return {};
  const std::size_t at = std::min(limit->text.find('/'), limit->text.find(" per "));
  return at == std::string_view::npos ? std::string_view() : limit->text.substr(at);
}

bool HasWindow(const YamlNode& tier) {
  static constexpr std::array<std::string_view, 3> kFields{"window", "anchor", "algorithm"};
  return std::any_of(kFields.begin(), kFields.end(),
                     [&](std::string_view field) { return FindName(tier, field) != kAbsent; });
}

/// A tier's new value. A limit without a window has that of the previous value.
class TierValue {
 public:
  TierValue(const YamlNode& value, const YamlNode* previous) : given_(&value), mapping_(value) {
    if (previous == nullptr) return;
    const bool is_mapping = value.kind == YamlKind::kMapping;
    const bool was_mapping = previous->kind == YamlKind::kMapping;
    const YamlNode* limit = is_mapping ? FindValue(value, "limit") : &value;
    if (limit == nullptr || !IsWhole(*limit) || HasWindow(value)) return;
    const std::string_view window =
        WindowOf(was_mapping ? FindValue(*previous, "limit") : previous);
    if (!window.empty()) {
      text_ = std::string(limit->text) + std::string(window);
      rate_ = TextNode(text_);
      node_ = &rate_;
      if (is_mapping) {
        mapping_.Set(FindName(value, "limit"), rate_);
        node_ = &mapping_.node();
      }
    } else if (is_mapping && was_mapping) {
      for (const std::string_view kept : {"window", "anchor"}) {
        const std::size_t index = FindName(*previous, kept);
        if (index == kAbsent) continue;
        mapping_.Append(*previous->children[index], *previous->children[index + 1]);
        node_ = &mapping_.node();
      }
    }
  }
  TierValue(const TierValue&) = delete;
  TierValue& operator=(const TierValue&) = delete;

  [[nodiscard]] bool is_changed() const { return node_ != given_; }
  [[nodiscard]] const YamlNode& node() const { return *node_; }

 private:
  const YamlNode* given_;
  const YamlNode* node_ = given_;
  ChangedMapping mapping_;
  std::string text_;
  YamlNode rate_;
};

}  // namespace

EditResult PutRule(std::string_view document, std::string_view id, std::string_view rule,
                   TextFormat format) {
  const auto parsed = ParseItem(rule, format);
  if (const auto* error = std::get_if<YamlError>(&parsed)) {
    return Failed(EditFailure::kInvalidItem, error->message, error->position);
  }
  const YamlNode* item = std::get<YamlTree>(parsed).root();
  if (item == nullptr || item->kind != YamlKind::kMapping) {
    return Failed(EditFailure::kInvalidItem, "expected the fields of a rule");
  }
  const YamlNode* given = IdOf(*item);
  if (given != nullptr && given->text != id) {
    return Failed(EditFailure::kInvalidItem,
                  "has the id " + config_text::Shown(given->text) + ", expected " +
                      config_text::Shown(id) + "; a rule's id can't be changed",
                  given->position);
  }
  const Document edited(document);
  if (edited.root() == nullptr) return NotEditable("it is not a mapping");
  const YamlNode id_name = TextNode("id");
  const YamlNode id_value = TextNode(id);
  ChangedMapping with_id(*item);
  if (given == nullptr) with_id.Prepend(id_name, id_value);
  const FoundRule found = FindRule(*edited.root(), id);
  return edited.Apply({.field = found.field,
                       .kind = YamlKind::kSequence,
                       .index = found.index,
                       .value = &with_id.node()},
                      given != nullptr ? UsableLines(rule, format, *item) : std::string_view());
}

EditResult RemoveRule(std::string_view document, std::string_view id) {
  const Document edited(document);
  if (edited.root() == nullptr) return NotEditable("it is not a mapping");
  const FoundRule found = FindRule(*edited.root(), id);
  if (found.index == kAbsent) {
    return Failed(EditFailure::kNotFound, "no rule has the id " + config_text::Shown(id));
  }
  return edited.Apply({.field = found.field, .kind = YamlKind::kSequence, .index = found.index},
                      {});
}

EditResult PutTier(std::string_view document, std::string_view name, std::string_view tier,
                   TextFormat format) {
  const auto parsed = ParseItem(tier, format);
  if (const auto* error = std::get_if<YamlError>(&parsed)) {
    return Failed(EditFailure::kInvalidItem, error->message, error->position);
  }
  const YamlNode* item = std::get<YamlTree>(parsed).root();
  if (item == nullptr) return Failed(EditFailure::kInvalidItem, "expected the numbers of a tier");
  const Document edited(document);
  if (edited.root() == nullptr) return NotEditable("it is not a mapping");
  const YamlNode* tiers = FindTiers(*edited.root());
  const std::size_t child = tiers == nullptr ? kAbsent : FindName(*tiers, name);
  const YamlNode* previous = child == kAbsent ? nullptr : tiers->children[child + 1];
  const TierValue value(*item, previous);
  return edited.Apply({.field = "tiers",
                       .kind = YamlKind::kMapping,
                       .index = child == kAbsent ? kAbsent : child / 2,
                       .name = name,
                       .value = &value.node()},
                      value.is_changed() ? std::string_view() : UsableLines(tier, format, *item));
}

EditResult RemoveTier(std::string_view document, std::string_view name) {
  const Document edited(document);
  if (edited.root() == nullptr) return NotEditable("it is not a mapping");
  const YamlNode* tiers = FindTiers(*edited.root());
  const std::size_t child = tiers == nullptr ? kAbsent : FindName(*tiers, name);
  if (child == kAbsent) {
    return Failed(EditFailure::kNotFound, "no tier has the name " + config_text::Shown(name));
  }
  return edited.Apply(
      {.field = "tiers", .kind = YamlKind::kMapping, .index = child / 2, .name = name}, {});
}

}  // namespace sluice::rules
