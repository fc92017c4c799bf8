#include "rules/pattern_reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/host_name.h"
#include "base/network.h"
#include "config_text/suggestion.h"
#include "rules/glob.h"
#include "rules/regex.h"

namespace sluice::rules {
namespace {

// Of all regular expressions of a document: about two seconds of compiling.
constexpr std::size_t kMaxRegexSize = 1'000'000;

bool HasWildcard(std::string_view text) { return text.find_first_of("*?") != text.npos; }

Pattern MakePattern(PatternKind kind, const config_text::Field& field) {
  return {kind, std::string(field->text), field->position};
}

bool HasUpperCase(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c != AsciiLower(c); });
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), AsciiLower);
  return lower;
}

// Whether a glob asks for a port, brackets or a dot at the end. Several colons are an address.
bool AsksForMoreThanAHost(std::string_view glob) {
  return std::count(glob.begin(), glob.end(), ':') == 1 || glob.starts_with('[') ||
         glob.ends_with('.');
}

constexpr const char* kHostAsSeen =
    "can never match: rules see a host without its port, brackets and a dot at the end";

}  // namespace

std::optional<Pattern> ReadExact(config_text::Reading& reading, const config_text::Field& field) {
  if (!reading.Text(field, "a value")) return std::nullopt;
  return MakePattern(PatternKind::kExact, field);
}

std::optional<Pattern> ReadGlob(config_text::Reading& reading, const config_text::Field& field) {
  const auto text = reading.Text(field, "a pattern such as sk_prod_*");
  if (!text) return std::nullopt;
  if (const auto problem = GlobProblem(*text)) {
    reading.AddError(field, "not a pattern: " + config_text::Shown(*text) + " " + *problem);
    return std::nullopt;
  }
  return MakePattern(PatternKind::kGlob, field);
}

std::optional<Pattern> ReadValue(config_text::Reading& reading, const config_text::Field& field) {
  if (field->kind == config_text::YamlKind::kScalar && HasWildcard(field->text))
    return ReadGlob(reading, field);
  return ReadExact(reading, field);
}

std::optional<Pattern> ReadRegex(config_text::Reading& reading, const config_text::Field& field) {
  const auto text = reading.Text(field, "a regular expression");
  if (!text) return std::nullopt;
  if (!reading.checked_regexes().contains(*text)) {
    if (reading.regex_size() > kMaxRegexSize) {
      reading.AddError(field, "the regular expressions before it are too large together: at most " +
                                  std::to_string(kMaxRegexSize) +
                                  " instructions of RE2 in a document");
      return std::nullopt;
    }
    if (const auto problem = RegexProblem(*text, reading.regex_size())) {
      reading.AddError(field, "not a regular expression that RE2 takes: " + *problem);
      return std::nullopt;
    }
    reading.checked_regexes().insert(*text);
  }
  return MakePattern(PatternKind::kRegex, field);
}

std::optional<Pattern> ReadHostExact(config_text::Reading& reading,
                                     const config_text::Field& field) {
  auto pattern = ReadExact(reading, field);
  if (!pattern) return std::nullopt;
  std::string buffer;
  const std::string_view seen = NormalizeHost(pattern->text, buffer);
  if (seen.size() != pattern->text.size() && !ParseAddress(pattern->text)) {
    std::string problem(kHostAsSeen);
    problem.append("; write ").append(config_text::Shown(seen));
    reading.AddError(field, std::move(problem));
    return std::nullopt;
  }
  pattern->text = std::string(seen);
  return pattern;
}

std::optional<Pattern> ReadHostGlob(config_text::Reading& reading,
                                    const config_text::Field& field) {
  auto pattern = ReadGlob(reading, field);
  if (!pattern) return std::nullopt;
  if (AsksForMoreThanAHost(pattern->text)) {
    reading.AddError(field, kHostAsSeen);
    return std::nullopt;
  }
  pattern->text = LowerCase(pattern->text);
  return pattern;
}

std::optional<Pattern> ReadHost(config_text::Reading& reading, const config_text::Field& field) {
  const bool is_glob = field->kind == config_text::YamlKind::kScalar && HasWildcard(field->text);
  return is_glob ? ReadHostGlob(reading, field) : ReadHostExact(reading, field);
}

std::optional<Pattern> ReadHostRegex(config_text::Reading& reading,
                                     const config_text::Field& field) {
  auto pattern = ReadRegex(reading, field);
  if (pattern && HasUpperCase(pattern->text)) pattern->text.insert(0, "(?i)");
  return pattern;
}

std::optional<Pattern> ReadNetwork(config_text::Reading& reading, const config_text::Field& field) {
  const auto text = reading.Text(field, "an address or a network such as 10.0.0.0/8");
  if (!text) return std::nullopt;
  if (const auto problem = NetworkProblem(*text)) {
    reading.AddError(field, "not an address or a network: " + *problem);
    return std::nullopt;
  }
  return MakePattern(PatternKind::kCidr, field);
}

std::optional<Pattern> ReadListEntry(config_text::Reading& reading,
                                     const config_text::Field& field) {
  const bool is_scalar = field->kind == config_text::YamlKind::kScalar;
  if (is_scalar && LooksLikeNetwork(field->text)) return ReadNetwork(reading, field);
  return ReadValue(reading, field);
}

}  // namespace sluice::rules
