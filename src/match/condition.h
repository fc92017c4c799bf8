#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/network.h"
#include "base/network_table.h"
#include "match/literal_index.h"
#include "match/match_input.h"
#include "match/pattern_table.h"
#include "rules/glob.h"
#include "rules/model.h"
#include "rules/regex.h"

namespace sluice::match {

/// Regular expressions by their text: rules often share them, and each takes memory.
using RegexPool = std::map<std::string, std::shared_ptr<const rules::Regex>, std::less<>>;

/// Small letters for large ones, of ASCII.
[[nodiscard]] std::string Lowered(std::string_view text);
/// `lowered` must have no large letters.
[[nodiscard]] bool EqualsLowered(std::string_view text, std::string_view lowered);

/// Several patterns, or such as need more than a comparison.
class CompiledPatterns {
 public:
  CompiledPatterns(const std::vector<rules::Pattern>& patterns, bool ignore_case,
                   RegexPool& regexes);

  /// Exact texts and globs.
  [[nodiscard]] bool MatchesText(std::string_view value) const;
  /// Everything else. The address is what the value says, if it says one.
  [[nodiscard]] bool MatchesOther(std::string_view value,
                                  const std::optional<Address>& address) const;

  [[nodiscard]] bool matches_all() const { return matches_all_; }
  [[nodiscard]] bool has_networks() const { return !networks_.empty(); }
  [[nodiscard]] int effort() const;

 private:
  void Add(const rules::Pattern& pattern, RegexPool& regexes);

  bool ignore_case_;
  bool matches_all_ = false;  ///< Any value will do.
  std::vector<std::string> exact_;
  std::vector<rules::Glob> globs_;
  std::unique_ptr<const PatternTable> many_;  ///< Instead of the two above if they are many.
  std::vector<Literal> literals_;             ///< Regular expressions that say no more than this.
  std::vector<std::shared_ptr<const rules::Regex>> regexes_;
  NetworkTable networks_;
};

/// A condition of the model, made ready. Most want one text or one network; those are held in
/// place, since with many rules memory is what takes time. Immutable, so any thread may ask;
/// allocates nothing then, once RE2 has seen values of the kind.
class CompiledCondition {
 public:
  /// Takes a condition whose patterns have no problem.
  CompiledCondition(const rules::Condition& condition, Slots& slots, RegexPool& regexes);

  [[nodiscard]] bool Holds(const MatchInput& call) const;

  /// Larger for what takes longer: a rule asks its cheap conditions first.
  [[nodiscard]] int effort() const { return effort_; }

 private:
  enum class Kind : std::uint8_t { kPresent, kAbsent, kLiteral, kNetwork, kSet };

  /// True if the pattern could be held in place.
  bool HoldInPlace(const rules::Pattern& pattern);
  [[nodiscard]] bool SetHolds(const MatchInput& call, std::string_view value) const;

  Slot slot_;
  Kind kind_ = Kind::kSet;
  bool or_template_ = false;  ///< The endpoint's template will do as well.
  int effort_ = 0;
  Literal literal_;
  Network network_;
  std::unique_ptr<const CompiledPatterns> set_;
};

}  // namespace sluice::match
