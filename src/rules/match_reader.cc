#include "rules/match_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "rules/field_names.h"
#include "rules/mapping.h"
#include "rules/pattern_reader.h"
#include "rules/suggestion.h"

namespace sluice::rules {
namespace {

using PatternReader = std::optional<Pattern> (*)(Reading&, const Field&);

constexpr std::array<std::string_view, 7> kWellKnown = {"api_key", "ip",   "endpoint", "method",
                                                        "tier",    "user", "model"};

std::optional<Pattern> ReadMethod(Reading& reading, const Field& field) {
  const auto text = reading.Text(field, "a method such as GET");
  if (!text) return std::nullopt;
  const bool is_token = std::all_of(text->begin(), text->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
  if (!is_token) {
    reading.Wrong(field, "expected a method such as GET, found " + Shown(*text));
    return std::nullopt;
  }
  return ReadExact(reading, field);
}

/// How values of an attribute are written where the file does not say more.
PatternReader UsualReader(std::string_view attribute) {
  if (attribute == "ip") return ReadNetwork;
  if (attribute == "method") return ReadMethod;
  return ReadValue;
}

void ReadPatterns(Reading& reading, const Field& field, PatternReader read, Condition& condition) {
  if (field->kind == YamlKind::kSequence && field->children.empty()) {
    reading.Wrong(field, "an empty list matches nothing; expected at least one value");
  }
  for (const Field& item : reading.Items(field)) {
    if (auto pattern = read(reading, item)) condition.any_of.push_back(*std::move(pattern));
  }
}

void ReadDetailed(Reading& reading, const Field& field, Condition& condition) {
  const Mapping mapping(reading, field, ConditionFields());
  const bool is_address = condition.attribute == "ip";
  const std::pair<std::string_view, PatternReader> kinds[] = {
      {"exact", is_address ? ReadNetwork : ReadExact},
      {"glob", ReadGlob},
      {"in", UsualReader(condition.attribute)},
      {"regex", ReadRegex},
  };
  int forms = 0;
  for (const auto& [name, read] : kinds) {
    const Field value = mapping[name];
    if (!value) continue;
    ++forms;
    ReadPatterns(reading, value, read, condition);
  }
  for (const std::string_view name : {"present", "absent"}) {
    const Field value = mapping[name];
    if (!value) continue;
    ++forms;
    const auto flag = reading.Flag(value);
    if (!flag) continue;
    condition.presence = *flag == (name == "present") ? Presence::kPresent : Presence::kAbsent;
  }
  if (forms != 1) {
    reading.Wrong(field, "expected one of exact, glob, in, regex, present or absent, found " +
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
    return {name.substr(0, name.size() - 8), ReadGlob};
  }
  if (name.size() > 6 && name.ends_with("_regex")) {
    return {name.substr(0, name.size() - 6), ReadRegex};
  }
  return {name, UsualReader(name)};
}

// A name that is no attribute that anybody would have, but nearly one of ours.
std::optional<std::string> NearMiss(std::string_view name) {
  std::vector<std::string> known = {"methods"};
  for (const std::string_view attribute : kWellKnown) {
    if (name == attribute) return std::nullopt;
    known.emplace_back(attribute);
    known.push_back(std::string(attribute) + "_pattern");
    known.push_back(std::string(attribute) + "_regex");
  }
  if (std::find(known.begin(), known.end(), name) != known.end()) return std::nullopt;
  const std::vector<std::string_view> names(known.begin(), known.end());
  // Short names are too close to each other: `ip`, `id`, `os`.
  const auto closest = name.size() >= 5 ? ClosestName(name, names) : std::nullopt;
  if (closest) return std::string(*closest);
  if (name == "path" || name == "url" || name == "uri" || name == "route") return "endpoint";
  if (name == "ip_cidr" || name == "cidr" || name == "client_ip" || name == "address") return "ip";
  if (name == "key" || name == "apikey" || name == "token") return "api_key";
  for (const std::string_view suffix : {"_pattern", "_regex"}) {
    const std::size_t underscore = name.rfind('_');
    if (underscore == 0 || underscore == name.npos) continue;
    const std::array<std::string_view, 1> only = {suffix};
    const std::string_view end = name.substr(underscore);
    if (end != suffix && ClosestName(end, only)) {
      return std::string(name.substr(0, underscore)) + std::string(suffix);
    }
  }
  return std::nullopt;
}

// Who writes `path: {exact: /a}` says plainly that it is an attribute, whatever it is called.
bool CheckName(Reading& reading, const Field& field) {
  if (field.name == "present" || field.name == "absent") {
    reading.WrongName(
        field, "stands under an attribute, as in `user: {" + std::string(field.name) + ": true}`");
    return false;
  }
  const bool plain =
      field->kind == YamlKind::kMapping && SubjectOf(field.name).attribute == field.name;
  if (plain) return true;
  if (const auto meant = NearMiss(field.name)) {
    reading.WrongName(field, "unknown condition; did you mean " + Shown(*meant) + "?");
    return false;
  }
  return true;
}

}  // namespace

std::vector<Condition> ReadMatch(Reading& reading, const Field& match) {
  std::vector<Condition> conditions;
  for (const Field& field : reading.Entries(match, "conditions such as `api_key_pattern: sk_*`")) {
    const Subject subject = SubjectOf(field.name);
    // The usual names are not searched for near misses: it is slow.
    const bool usual =
        std::find(kWellKnown.begin(), kWellKnown.end(), subject.attribute) != kWellKnown.end();
    if (!usual && !CheckName(reading, field)) continue;
    Condition& condition = conditions.emplace_back();
    condition.attribute = subject.attribute;
    condition.ignore_case = subject.attribute == "method";
    condition.position = field.key;
    if (field->kind == YamlKind::kMapping && subject.attribute == field.name) {
      ReadDetailed(reading, field, condition);
    } else {
      ReadPatterns(reading, field, subject.read, condition);
    }
  }
  return conditions;
}

Condition ReadTiers(Reading& reading, const Field& field) {
  Condition condition;
  condition.attribute = "tier";
  condition.position = field.key;
  ReadPatterns(reading, field, ReadExact, condition);
  return condition;
}

}  // namespace sluice::rules
