#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/network.h"
#include "rules/glob.h"
#include "rules/model.h"
#include "rules/regex.h"

namespace sluice::rules {

/// Compiled patterns for matching many values.
class PatternSet {
 public:
  /// The patterns must outlive this.
  explicit PatternSet(std::span<const Pattern> patterns, bool ignore_case = false);

  /// Returns whether any of them matches.
  [[nodiscard]] bool Matches(std::string_view value) const;
  /// Returns false if no value matches both the glob and any of the patterns; true if unknown.
  [[nodiscard]] bool MayOverlap(std::string_view glob) const;

 private:
  bool ignore_case_;
  std::unordered_set<std::string_view> exact_;
  std::vector<Glob> globs_;
  std::vector<std::string_view> glob_texts_;
  std::vector<Regex> regexes_;
  std::vector<Network> networks_;
};

/// Returns the prefix of every match of a glob: its text up to the first '*', '?' or '\'.
[[nodiscard]] std::string_view LiteralPrefix(std::string_view glob);

/// Returns the prefix of a glob that consists of a prefix and '*', such as "sk_*".
[[nodiscard]] std::optional<std::string_view> PrefixOfSimpleGlob(std::string_view glob);

/// Returns whether every value matches the pattern, as with `*` and `.*`.
[[nodiscard]] bool IsEverything(const Pattern& pattern);

/// Returns true if everything that matches `narrow` also matches `wide`; false if unknown.
[[nodiscard]] bool Covers(const Condition& wide, const Condition& narrow);

/// Returns whether the condition requires the attribute to be present.
[[nodiscard]] bool NeedsAttribute(const Condition& condition);

}  // namespace sluice::rules
