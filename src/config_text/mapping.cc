#include "config_text/mapping.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "config_text/suggestion.h"

namespace sluice::config_text {
namespace {

constexpr std::size_t kMaxListed = 12;

}  // namespace

FieldNames::FieldNames(std::string_view what,
                       std::initializer_list<std::vector<std::string_view>> names,
                       std::string_view document, FieldHint unknown_hint)
    : what_(what), document_(document), hint_(unknown_hint) {
  for (const auto& group : names) all_.insert(all_.end(), group.begin(), group.end());
  assert(all_.size() <= kMost);
  for (std::size_t i = 0; i < all_.size(); ++i) index_.emplace(all_[i], i);
}

std::size_t FieldNames::IndexOf(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? kMost : found->second;
}

Mapping::Mapping(Reading& reading, const Field& field, const FieldNames& names)
    : reading_(reading), names_(names), path_(reading.PathOf(field)) {
  if (field->kind != YamlKind::kMapping) {
    reading.AddError(field, "expected the fields of " + std::string(names.what()) + ", found " +
                                Found(*field.node));
    ok_ = false;
    return;
  }
  for (std::size_t i = 0; i + 1 < field->children.size(); i += 2) {
    const YamlNode& key = *field->children[i];
    if (key.kind != YamlKind::kScalar || key.text.empty()) {
      reading.AddErrorAt(key.position, path_, "expected a field's name, found " + Found(key));
      continue;
    }
    if (key.text.starts_with("x-")) continue;  // For notes, and for anchors to stand at.
    const Field entry{
        .node = field->children[i + 1], .parent = path_, .name = key.text, .key = key.position};
    const std::size_t index = names.IndexOf(key.text);
    if (index == FieldNames::kMost) {
      ReportUnknown(entry);
    } else if (values_[index] != nullptr) {
      reading.AddNameError(entry,
                           "stands here twice; first on line " + std::to_string(keys_[index].line));
    } else {
      values_[index] = entry.node;
      keys_[index] = key.position;
    }
  }
}

Field Mapping::operator[](std::string_view name) const {
  const std::size_t index = names_.IndexOf(name);
  assert(index != FieldNames::kMost);
  if (values_[index] == nullptr) return {};
  return {.node = values_[index], .parent = path_, .name = name, .key = keys_[index]};
}

Field Mapping::Either(std::string_view name, std::string_view other) const {
  const Field first = (*this)[name];
  const Field second = (*this)[other];
  if (first && second) {
    reading_.AddNameError(second, "means the same as " + Shown(name) + " on line " +
                                      std::to_string(first.key.line) + "; leave one of them out");
  }
  return first ? first : second;
}

void Mapping::ReportUnknown(const Field& field) {
  std::string message = "unknown field";
  std::string hint = names_.hint() == nullptr ? std::string() : names_.hint()(names_, field.name);
  if (hint.empty()) hint = DidYouMean(field.name, names_.all());
  if (!hint.empty()) {
    message += hint;
  } else if (names_.all().size() > kMaxListed) {
    message +=
        "; " + std::string(names_.document()) + " has the fields of " + std::string(names_.what());
  } else {
    message += "; " + std::string(names_.what()) + " has ";
    for (std::size_t i = 0; i < names_.all().size(); ++i) {
      message += (i > 0 ? ", " : "") + std::string(names_.all()[i]);
    }
  }
  reading_.AddNameError(field, std::move(message));
}

}  // namespace sluice::config_text
