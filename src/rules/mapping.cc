#include "rules/mapping.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "rules/field_names.h"
#include "rules/suggestion.h"

namespace sluice::rules {
namespace {

// What people call things elsewhere, and what is probably meant.
constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kOtherWords = {{
    {"rate", "limit"},
    {"requests", "limit"},
    {"quota", "limit"},
    {"max", "limit"},
    {"max_requests", "limit"},
    {"rps", "limit"},
    {"burst", "burst_allowance"},
    {"bucket_size", "capacity"},
    {"size", "capacity"},
    {"period", "window"},
    {"duration", "window"},
    {"interval", "window"},
    {"unit", "window"},
    {"fill_rate", "refill_rate"},
    {"key", "per"},
    {"by", "per"},
    {"dry_run", "shadow"},
    {"disabled", "enabled"},
    {"kind", "type"},
    {"pattern", "key"},
    {"minimum", "min"},
    {"maximum", "max"},
}};

constexpr std::size_t kMaxListed = 12;

bool IsCondition(std::string_view name) {
  for (const std::string_view known : {"api_key", "endpoint", "method", "methods", "ip", "path"}) {
    if (name == known) return true;
  }
  return name.ends_with("_pattern") || name.ends_with("_regex");
}

bool Has(const FieldNames& names, std::string_view name) {
  return names.IndexOf(name) != FieldNames::kMost;
}

}  // namespace

FieldNames::FieldNames(std::string_view what,
                       std::initializer_list<std::vector<std::string_view>> names,
                       std::string_view document)
    : what_(what), document_(document) {
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
    reading.Wrong(field, "expected the fields of " + std::string(names.what()) + ", found " +
                             Found(*field.node));
    ok_ = false;
    return;
  }
  for (std::size_t i = 0; i + 1 < field->children.size(); i += 2) {
    const YamlNode& key = *field->children[i];
    if (key.kind != YamlKind::kScalar || key.text.empty()) {
      reading.WrongAt(key.position, path_, "expected a field's name, found " + Found(key));
      continue;
    }
    if (key.text.starts_with("x-")) continue;  // For notes, and for anchors to stand at.
    const Field entry{
        .node = field->children[i + 1], .parent = path_, .name = key.text, .key = key.position};
    const std::size_t index = names.IndexOf(key.text);
    if (index == FieldNames::kMost) {
      ReportUnknown(entry);
    } else if (values_[index] != nullptr) {
      reading.WrongName(entry,
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
    reading_.WrongName(second, "says the same as " + Shown(name) + " on line " +
                                   std::to_string(first.key.line) + "; leave one of them out");
  }
  return first ? first : second;
}

void Mapping::ReportUnknown(const Field& field) {
  std::string message = "unknown field";
  const std::string suggestion = DidYouMean(field.name, names_.all());
  const auto* const other =
      std::find_if(kOtherWords.begin(), kOtherWords.end(),
                   [&](const auto& word) { return word.first == field.name; });
  if (other != kOtherWords.end() && Has(names_, other->second)) {
    message += "; did you mean " + Shown(other->second) + "?";
  } else if (Has(names_, "match") && IsCondition(field.name)) {
    message += "; conditions stand under `match`";
  } else if (!suggestion.empty()) {
    message += suggestion;
  } else if (names_.document() == RuleFields().document() && Has(RuleFields(), field.name)) {
    message += "; it belongs to a rule, not to " + std::string(names_.what());
  } else if (names_.all().size() > kMaxListed) {
    message +=
        "; " + std::string(names_.document()) + " has the fields of " + std::string(names_.what());
  } else {
    message += "; " + std::string(names_.what()) + " has ";
    for (std::size_t i = 0; i < names_.all().size(); ++i) {
      message += (i > 0 ? ", " : "") + std::string(names_.all()[i]);
    }
  }
  reading_.WrongName(field, std::move(message));
}

}  // namespace sluice::rules
