#include "rules/pattern_cover.h"

#include <algorithm>

#include "base/ascii.h"
#include "config_text/reading.h"

namespace sluice::rules {
namespace {

bool IsInside(const Network& narrow, const Network& wide) {
  return narrow.v4 == wide.v4 && narrow.prefix >= wide.prefix && wide.Contains(narrow.base);
}

bool CoversGlob(std::string_view wide, const Pattern& narrow) {
  if (narrow.kind == PatternKind::kExact) {
    const auto glob = Glob::Compile(wide);
    return glob && glob->Matches(narrow.text);
  }
  const auto prefix = PrefixOfSimpleGlob(wide);
  return narrow.kind == PatternKind::kGlob && prefix &&
         LiteralPrefix(narrow.text).starts_with(*prefix);
}

bool CoversPattern(const Pattern& wide, const Pattern& narrow, const Condition& condition) {
  if (IsEverything(wide)) return true;
  if (wide.kind == narrow.kind && wide.text == narrow.text) return true;
  switch (wide.kind) {
    case PatternKind::kExact:
      return condition.ignore_case && narrow.kind == PatternKind::kExact &&
             EqualIgnoringCase(wide.text, narrow.text);
    case PatternKind::kGlob:
      return CoversGlob(wide.text, narrow);
    case PatternKind::kRegex:
      return false;  // Values of endpoints may also be matched by their template.
    case PatternKind::kCidr: {
      const auto outer = ParseNetwork(wide.text);
      const auto inner = ParseNetwork(narrow.text);
      return narrow.kind == PatternKind::kCidr && outer && inner && IsInside(*inner, *outer);
    }
  }
  return false;
}

}  // namespace

PatternSet::PatternSet(std::span<const Pattern> patterns, bool ignore_case)
    : ignore_case_(ignore_case) {
  for (const Pattern& pattern : patterns) {
    switch (pattern.kind) {
      case PatternKind::kExact:
        exact_.insert(pattern.text);
        break;
      case PatternKind::kGlob:
        if (auto glob = Glob::Compile(pattern.text)) globs_.push_back(*std::move(glob));
        glob_texts_.push_back(pattern.text);
        break;
      case PatternKind::kRegex:
        if (auto regex = Regex::Compile(pattern.text)) regexes_.push_back(*std::move(regex));
        break;
      case PatternKind::kCidr:
        if (const auto network = ParseNetwork(pattern.text)) networks_.push_back(*network);
        break;
    }
  }
}

bool PatternSet::Matches(std::string_view value) const {
  if (exact_.contains(value)) return true;
  const auto same = [&](std::string_view text) { return EqualIgnoringCase(text, value); };
  if (ignore_case_ && std::any_of(exact_.begin(), exact_.end(), same)) return true;
  const auto matches = [&](const auto& pattern) { return pattern.Matches(value); };
  if (std::any_of(globs_.begin(), globs_.end(), matches)) return true;
  if (std::any_of(regexes_.begin(), regexes_.end(), matches)) return true;
  const auto address = networks_.empty() ? std::nullopt : ParseAddress(value);
  return address && std::any_of(networks_.begin(), networks_.end(),
                                [&](const Network& network) { return network.Contains(*address); });
}

bool PatternSet::MayOverlap(std::string_view glob) const {
  if (!regexes_.empty() || !networks_.empty() || ignore_case_) return true;
  const auto compiled = Glob::Compile(glob);
  if (!compiled) return true;
  const auto met = [&](std::string_view value) { return compiled->Matches(value); };
  if (std::any_of(exact_.begin(), exact_.end(), met)) return true;
  const std::string_view prefix = LiteralPrefix(glob);
  return std::any_of(glob_texts_.begin(), glob_texts_.end(), [&](std::string_view other) {
    const std::string_view other_prefix = LiteralPrefix(other);
    return prefix.starts_with(other_prefix) || other_prefix.starts_with(prefix);
  });
}

std::string_view LiteralPrefix(std::string_view glob) {
  return glob.substr(0, std::min(glob.find_first_of("*?\\"), glob.size()));
}

std::optional<std::string_view> PrefixOfSimpleGlob(std::string_view glob) {
  if (!glob.ends_with('*')) return std::nullopt;
  const std::string_view prefix = LiteralPrefix(glob);
  if (prefix.size() + 1 != glob.size()) return std::nullopt;
  return prefix;
}

bool IsEverything(const Pattern& pattern) {
  if (pattern.kind == PatternKind::kGlob) {
    return !pattern.text.empty() && pattern.text.find_first_not_of('*') == std::string::npos;
  }
  if (pattern.kind != PatternKind::kRegex) return false;
  for (const std::string_view text : {".*", "^.*", ".*$", "^.*$", ".+", "^.+$", "^"}) {
    if (pattern.text == text) return true;
  }
  return false;
}

bool NeedsAttribute(const Condition& condition) { return condition.presence != Presence::kAbsent; }

bool Covers(const Condition& wide, const Condition& narrow) {
  if (wide.attribute != narrow.attribute) return false;
  if (wide.presence == Presence::kAbsent) return narrow.presence == Presence::kAbsent;
  if (!NeedsAttribute(narrow)) return false;
  if (wide.presence == Presence::kPresent) return true;
  if (std::any_of(wide.any_of.begin(), wide.any_of.end(), IsEverything)) return true;
  if (narrow.any_of.empty()) return false;
  return std::all_of(narrow.any_of.begin(), narrow.any_of.end(), [&](const Pattern& pattern) {
    return std::any_of(wide.any_of.begin(), wide.any_of.end(),
                       [&](const Pattern& wider) { return CoversPattern(wider, pattern, wide); });
  });
}

}  // namespace sluice::rules
