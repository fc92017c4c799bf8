#include "rules/endpoint_case.h"

#include <string_view>

#include "base/ascii.h"
#include "config_text/suggestion.h"

namespace sluice::rules {
namespace {

// A letter after '\' is a class such as \S.
bool WantsUpperCase(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] != AsciiLower(text[i])) {
      return true;
    }
  }
  return false;
}

bool WantsUpperCase(const Pattern& pattern) {
  const bool ignores_case =
      pattern.kind == PatternKind::kRegex && pattern.text.find("(?i") != std::string::npos;
  return !ignores_case && WantsUpperCase(pattern.text);
}

}  // namespace

std::vector<config_text::Diagnostic> WarnOfUpperCaseEndpoints(const std::string& name,
                                                              const RuleFile& file) {
  std::vector<config_text::Diagnostic> warnings;
  const auto warn = [&](std::string field, config_text::Position position, std::string_view text) {
    std::string message = "never matches, since paths are folded to lower case: ";
    message.append(config_text::Shown(text));
    warnings.push_back({.file = name,
                        .position = position,
                        .field = std::move(field),
                        .message = std::move(message)});
  };
  for (std::size_t i = 0; i < file.endpoints.size(); ++i) {
    const std::string& text = file.endpoints[i];
    if (WantsUpperCase(text)) warn("endpoints[" + std::to_string(i) + "]", {}, text);
  }
  for (std::size_t i = 0; i < file.rules.size(); ++i) {
    const Rule& rule = file.rules[i];
    const std::string field = "rules[" + std::to_string(i) + "]";
    for (const Condition& condition : rule.match) {
      if (condition.attribute != "endpoint") continue;
      for (const Pattern& pattern : condition.any_of) {
        if (WantsUpperCase(pattern)) warn(field + ".match", pattern.position, pattern.text);
      }
    }
    if (!rule.per || rule.per->empty() || rule.per->front() != "endpoint") continue;
    for (const Override& each : rule.overrides) {
      if (WantsUpperCase(each.whose))
        warn(field + ".override", each.whose.position, each.whose.text);
    }
  }
  return warnings;
}

}  // namespace sluice::rules
