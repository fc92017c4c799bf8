#include "rules/match_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "config_text/mapping.h"
#include "config_text/suggestion.h"
#include "rules/field_names.h"
#include "rules/pattern_reader.h"

namespace sluice::rules {
namespace {

using PatternReader = std::optional<Pattern> (*)(config_text::Reading&, const config_text::Field&);

std::optional<Pattern> ReadMethod(config_text::Reading& reading, const config_text::Field& field) {
  const auto text = reading.Text(field, "a method such as GET");
  if (!text) return std::nullopt;
  const bool is_token = std::all_of(text->begin(), text->end(),
                                    [](char c) { return IsLetter(c) || c == '-' || c == '_'; });
  if (!is_token) {
    reading.AddError(field, "expected a method such as GET, found " + config_text::Shown(*text));
    return std::nullopt;
  }
  return ReadExact(reading, field);
}

/// How the patterns of an attribute are read.
struct PatternReaders {
  PatternReader usual = ReadValue;  ///< Where the file does not say more.
  PatternReader exact = ReadExact;
  PatternReader glob = ReadGlob;
  PatternReader regex = ReadRegex;
};

PatternReaders ReadersOf(std::string_view attribute) {
  if (attribute == "ip") return {.usual = ReadNetwork, .exact = ReadNetwork};
  if (attribute == "method") return {.usual = ReadMethod};
  if (attribute == "host") return {ReadHost, ReadHostExact, ReadHostGlob, ReadHostRegex};
  return {};
}

void ReadPatterns(config_text::Reading& reading, const config_text::Field& field,
                  PatternReader read, Condition& condition) {
  if (field->kind == config_text::YamlKind::kSequence && field->children.empty()) {
    reading.AddError(field, "an empty list matches nothing; expected at least one value");
  }
  for (const config_text::Field& item : reading.Items(field)) {
    if (auto pattern = read(reading, item)) condition.any_of.push_back(*std::move(pattern));
  }
}

void ReadDetailed(config_text::Reading& reading, const config_text::Field& field,
                  Condition& condition) {
  const config_text::Mapping mapping(reading, field, ConditionFields());
  const PatternReaders readers = ReadersOf(condition.attribute);
  const std::pair<std::string_view, PatternReader> kinds[] = {
      {"exact", readers.exact},
      {"glob", readers.glob},
      {"in", readers.usual},
      {"regex", readers.regex},
  };
  int forms = 0;
  for (const auto& [name, read] : kinds) {
    const config_text::Field value = mapping[name];
    if (!value) continue;
    ++forms;
    ReadPatterns(reading, value, read, condition);
  }
  for (const std::string_view name : {"present", "absent"}) {
    const config_text::Field value = mapping[name];
    if (!value) continue;
    ++forms;
    const auto flag = reading.Flag(value);
    if (!flag) continue;
    condition.presence = *flag == (name == "present") ? Presence::kPresent : Presence::kAbsent;
  }
  if (forms != 1) {
    reading.AddError(field, "expected one of exact, glob, in, regex, present or absent, found " +
                                std::string(forms == 0 ? "none" : "several"));
  }
}

/// "api_key_pattern" is the attribute api_key with a glob.
struct Subject {
  std::string_view attribute;
  PatternReader read;
};

Subject SubjectOf(std::string_view name) {
  if (name == "methods") return {"method", ReadMethod};
  if (name.size() > 8 && name.ends_with("_pattern")) {
    const std::string_view attribute = name.substr(0, name.size() - 8);
    return {attribute, ReadersOf(attribute).glob};
  }
  if (name.size() > 6 && name.ends_with("_regex")) {
    const std::string_view attribute = name.substr(0, name.size() - 6);
    return {attribute, ReadersOf(attribute).regex};
  }
  return {name, ReadersOf(name).usual};
}

bool IsUsual(std::string_view attribute) {
  const auto usual = UsualAttributes();
  return std::find(usual.begin(), usual.end(), attribute) != usual.end();
}

// Returns whether a name is probably a misspelled well-known attribute.
std::optional<std::string> NearMiss(std::string_view name) {
  std::vector<std::string> known = {"methods"};
  for (const std::string_view attribute : UsualAttributes()) {
    if (name == attribute) return std::nullopt;
    known.emplace_back(attribute);
    known.push_back(std::string(attribute) + "_pattern");
    known.push_back(std::string(attribute) + "_regex");
  }
  if (std::find(known.begin(), known.end(), name) != known.end()) return std::nullopt;
  const std::vector<std::string_view> names(known.begin(), known.end());
  // Short names are too close to each other: `ip`, `id`, `os`.
  const auto closest = name.size() >= 5 ? config_text::ClosestName(name, names) : std::nullopt;
  if (closest && !Extends(name, *closest)) return std::string(*closest);
  if (const auto usual = MisspelledAttribute(name)) return std::string(*usual);
  for (const std::string_view suffix : {"_pattern", "_regex"}) {
    const std::size_t underscore = name.rfind('_');
    if (underscore == 0 || underscore == name.npos) continue;
    const std::array<std::string_view, 1> only = {suffix};
    const std::string_view end = name.substr(underscore);
    if (end != suffix && config_text::ClosestName(end, only)) {
      return std::string(name.substr(0, underscore)) + std::string(suffix);
    }
  }
  return std::nullopt;
}

// `path: {exact: /a}` is explicitly a condition on an attribute, whatever its name.
bool CheckName(config_text::Reading& reading, const config_text::Field& field) {
  if (field.name == "present" || field.name == "absent") {
    reading.AddNameError(
        field, "stands under an attribute, as in `user: {" + std::string(field.name) + ": true}`");
    return false;
  }
  const bool plain = field->kind == config_text::YamlKind::kMapping &&
                     SubjectOf(field.name).attribute == field.name;
  if (plain) return true;
  if (const auto meant = NearMiss(field.name)) {
    reading.AddNameError(field,
                         "unknown condition; did you mean " + config_text::Shown(*meant) + "?");
    return false;
  }
  return true;
}

}  // namespace

std::vector<Condition> ReadMatch(config_text::Reading& reading, const config_text::Field& match,
                                 const AttributeNames& names) {
  std::vector<Condition> conditions;
  for (const config_text::Field& field :
       reading.Entries(match, "conditions such as `api_key_pattern: sk_*`")) {
    const Subject subject = SubjectOf(field.name);
    // Names that are known are not searched for near misses: it is slow.
    const bool is_known = IsUsual(subject.attribute) || names.Declares(subject.attribute);
    if (!is_known && !CheckName(reading, field)) continue;
    Condition& condition = conditions.emplace_back();
    condition.attribute = subject.attribute;
    condition.ignore_case = subject.attribute == "method";
    condition.position = field.key;
    if (field->kind == config_text::YamlKind::kMapping && subject.attribute == field.name) {
      ReadDetailed(reading, field, condition);
    } else {
      ReadPatterns(reading, field, subject.read, condition);
    }
  }
  return conditions;
}

Condition ReadTiers(config_text::Reading& reading, const config_text::Field& field) {
  Condition condition;
  condition.attribute = "tier";
  condition.position = field.key;
  ReadPatterns(reading, field, ReadExact, condition);
  return condition;
}

}  // namespace sluice::rules
