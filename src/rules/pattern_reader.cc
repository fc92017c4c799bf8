#include "rules/pattern_reader.h"

#include <string>
#include <string_view>

#include "base/network.h"
#include "rules/glob.h"
#include "rules/regex.h"
#include "rules/suggestion.h"

namespace sluice::rules {
namespace {

bool HasWildcard(std::string_view text) { return text.find_first_of("*?") != text.npos; }

Pattern MakePattern(PatternKind kind, const Field& field) {
  return {kind, std::string(field->text), field->position};
}

}  // namespace

std::optional<Pattern> ReadExact(Reading& reading, const Field& field) {
  if (!reading.Text(field, "a value")) return std::nullopt;
  return MakePattern(PatternKind::kExact, field);
}

std::optional<Pattern> ReadGlob(Reading& reading, const Field& field) {
  const auto text = reading.Text(field, "a pattern such as sk_prod_*");
  if (!text) return std::nullopt;
  if (const auto problem = GlobProblem(*text)) {
    reading.Wrong(field, "not a pattern: " + Shown(*text) + " " + *problem);
    return std::nullopt;
  }
  return MakePattern(PatternKind::kGlob, field);
}

std::optional<Pattern> ReadValue(Reading& reading, const Field& field) {
  if (field->kind == YamlKind::kScalar && HasWildcard(field->text)) return ReadGlob(reading, field);
  return ReadExact(reading, field);
}

std::optional<Pattern> ReadRegex(Reading& reading, const Field& field) {
  const auto text = reading.Text(field, "a regular expression");
  if (!text) return std::nullopt;
  if (!reading.checked_regexes().contains(*text)) {
    if (const auto problem = RegexProblem(*text)) {
      reading.Wrong(field, "not a regular expression that RE2 takes: " + *problem);
      return std::nullopt;
    }
    reading.checked_regexes().insert(*text);
  }
  return MakePattern(PatternKind::kRegex, field);
}

std::optional<Pattern> ReadNetwork(Reading& reading, const Field& field) {
  const auto text = reading.Text(field, "an address or a network such as 10.0.0.0/8");
  if (!text) return std::nullopt;
  if (const auto problem = NetworkProblem(*text)) {
    reading.Wrong(field, "not an address or a network: " + *problem);
    return std::nullopt;
  }
  return MakePattern(PatternKind::kCidr, field);
}

std::optional<Pattern> ReadListEntry(Reading& reading, const Field& field) {
  const bool is_scalar = field->kind == YamlKind::kScalar;
  if (is_scalar && LooksLikeNetwork(field->text)) return ReadNetwork(reading, field);
  return ReadValue(reading, field);
}

}  // namespace sluice::rules
