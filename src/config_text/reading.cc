#include "config_text/reading.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "base/ascii.h"
#include "base/decimal.h"
#include "config_text/suggestion.h"

namespace sluice::config_text {
namespace {

constexpr std::size_t kMaxErrors = 100'000;

// Texts of a file may contain line breaks and other control characters.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (IsControl(c)) c = ' ';
  }
  return text;
}

std::string PathText(const Field& field) {
  std::string text = Describe(field.parent, field.name);
  if (field.index != Field::kNoItem) text += '[' + std::to_string(field.index) + ']';
  return text;
}

std::vector<Diagnostic> InOrder(std::vector<Diagnostic> found) {
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Position x = found[a].position;
    const Position y = found[b].position;
    return std::tie(x.line, x.column, a) < std::tie(y.line, y.column, b);
  });
  // The same number may be found wrong for several tiers and overrides.
  std::vector<Diagnostic> once;
  once.reserve(found.size());
  for (const std::size_t index : order) {
    Diagnostic& error = found[index];
    bool seen = false;
    for (auto other = once.rbegin();
         !seen && other != once.rend() && other->position == error.position; ++other) {
      seen = *other == error;
    }
    if (!seen) once.push_back(std::move(error));
  }
  return once;
}

}  // namespace

bool Reading::has_max_errors() const { return errors_.size() >= kMaxErrors; }

const FieldPath* Reading::PathOf(const Field& field) {
  if (field.name.empty() && field.index == Field::kNoItem) return field.parent;
  return &paths_.emplace_back(FieldPath{.parent = field.parent,
                                        .name = field.name,
                                        .index = field.index,
                                        .is_item = field.index != Field::kNoItem});
}

Diagnostic Reading::About(const Field& field, Position position, std::string message) const {
  return {file_, position, OneLine(PathText(field)), OneLine(std::move(message))};
}

void Reading::AddError(const Field& field, std::string message) {
  if (has_max_errors()) return;
  // For an empty value, yaml-cpp reports the position of the next token.
  const Position position = field->kind == YamlKind::kNull ? field.key : field->position;
  errors_.push_back(About(field, position, std::move(message)));
}

void Reading::AddNameError(const Field& field, std::string message) {
  if (has_max_errors()) return;
  errors_.push_back(About(field, field.key, std::move(message)));
}

void Reading::AddErrorAt(Position position, const FieldPath* path, std::string message) {
  if (has_max_errors()) return;
  errors_.push_back({file_, position, OneLine(Describe(path)), OneLine(std::move(message))});
}

void Reading::AddWarning(const Field& field, std::string message) {
  if (warnings_.size() >= kMaxErrors) return;
  warnings_.push_back(About(field, field->position, std::move(message)));
}

std::vector<Diagnostic> Reading::TakeErrors() { return InOrder(std::move(errors_)); }
std::vector<Diagnostic> Reading::TakeWarnings() { return InOrder(std::move(warnings_)); }

std::optional<std::string_view> Reading::Text(const Field& field, std::string_view expected) {
  if (field->kind == YamlKind::kScalar && !field->text.empty()) return field->text;
  AddError(field, "expected " + std::string(expected) + ", found " + Found(*field.node));
  return std::nullopt;
}

std::optional<bool> Reading::Flag(const Field& field) {
  if (field->kind == YamlKind::kScalar) {
    for (const std::string_view word : {"true", "on", "yes"}) {
      if (EqualIgnoringCase(field->text, word)) return true;
    }
    for (const std::string_view word : {"false", "off", "no"}) {
      if (EqualIgnoringCase(field->text, word)) return false;
    }
  }
  AddError(field, "expected true or false, found " + Found(*field.node));
  return std::nullopt;
}

std::optional<std::int64_t> Reading::Whole(const Field& field, std::int64_t low,
                                           std::int64_t high) {
  const auto number =
      field->kind == YamlKind::kScalar ? ParseWhole(field->text) : std::optional<std::int64_t>();
  if (!number) {
    AddError(field, "expected a whole number, found " + Found(*field.node));
  } else if (*number < low || *number > high) {
    AddError(field, "must be between " + std::to_string(low) + " and " + std::to_string(high) +
                        ", found " + std::to_string(*number));
  } else {
    return number;
  }
  return std::nullopt;
}

void Reading::ReportChoice(const Field& field, std::span<const std::string_view> words) {
  std::string message = "expected ";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) message += i + 1 == words.size() ? " or " : ", ";
    message += words[i];
  }
  message += ", found " + Found(*field.node);
  if (field->kind == YamlKind::kScalar) message += DidYouMean(field->text, words);
  AddError(field, std::move(message));
}

std::vector<Field> Reading::Items(const Field& field) {
  if (field->kind != YamlKind::kSequence) return {field};
  const FieldPath* path = PathOf(field);
  std::vector<Field> items;
  items.reserve(field->children.size());
  for (std::size_t i = 0; i < field->children.size(); ++i) {
    const YamlNode* node = field->children[i];
    items.push_back({.node = node, .parent = path, .index = i, .key = node->position});
  }
  return items;
}

std::vector<Field> Reading::Entries(const Field& field, std::string_view expected) {
  if (field->kind != YamlKind::kMapping) {
    AddError(field, "expected " + std::string(expected) + ", found " + Found(*field.node));
    return {};
  }
  const FieldPath* path = PathOf(field);
  std::vector<Field> entries;
  entries.reserve(field->children.size() / 2);
  std::unordered_map<std::string_view, int> lines;
  for (std::size_t i = 0; i + 1 < field->children.size(); i += 2) {
    const YamlNode& key = *field->children[i];
    const Field entry{
        .node = field->children[i + 1], .parent = path, .name = key.text, .key = key.position};
    if (key.kind != YamlKind::kScalar || key.text.empty()) {
      AddErrorAt(key.position, path, "expected a field's name, found " + Found(key));
      continue;
    }
    const auto [first, is_new] = lines.emplace(key.text, key.position.line);
    if (!is_new) {
      AddNameError(entry, "stands here twice; first on line " + std::to_string(first->second));
      continue;
    }
    entries.push_back(entry);
  }
  return entries;
}

std::string Found(const YamlNode& node) {
  switch (node.kind) {
    case YamlKind::kNull:
      return "nothing";
    case YamlKind::kSequence:
      return "a list";
    case YamlKind::kMapping:
      return "a mapping";
    case YamlKind::kScalar:
      break;
  }
  return node.text.empty() ? "an empty text" : Shown(node.text);
}

}  // namespace sluice::config_text
