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

/// Patterns made ready to be asked about many values.
class PatternSet {
 public:
  /// The patterns must outlive this.
  explicit PatternSet(std::span<const Pattern> patterns, bool ignore_case = false);

  /// Whether any of them matches.
  [[nodiscard]] bool Matches(std::string_view value) const;
  /// False if no value that the glob matches can be matched by any of them; true if unknown.
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

/// The text before the '*', if that is all there is: "sk_*".
[[nodiscard]] std::optional<std::string_view> PrefixOfSimpleGlob(std::string_view glob);

/// True for a pattern that every value matches, such as `*` and `.*`.
[[nodiscard]] bool IsEverything(const Pattern& pattern);

/// True if all that matches `narrow` also matches `wide`. False if unknown.
[[nodiscard]] bool Covers(const Condition& wide, const Condition& narrow);

/// True if the attribute must be there for the condition to hold.
[[nodiscard]] bool NeedsAttribute(const Condition& condition);

}  // namespace sluice::rules
