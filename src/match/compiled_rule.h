#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "match/budget.h"
#include "match/cohort.h"
#include "match/condition.h"
#include "match/match_input.h"
#include "match/pattern_table.h"
#include "rules/model.h"

namespace sluice::match {

/// A rule of the model, made ready. The rule must outlive it.
class CompiledRule {
 public:
  CompiledRule(const rules::Rule& rule, Slots& slots, RegexPool& regexes);

  /// True if the call is of the rule's tier and all conditions hold.
  [[nodiscard]] bool Holds(const MatchInput& call) const;

  /// The tier that the rule takes the call for.
  [[nodiscard]] std::string_view TierOf(const MatchInput& call) const {
    return tier_.empty() ? call[kTierSlot] : std::string_view(tier_);
  }

  /// The limits for a caller of a tier; empty if the rule has no numbers for it, or does not apply
  /// to the cohort.
  [[nodiscard]] std::span<const rules::NamedLimit> LimitsFor(std::string_view owner,
                                                             std::string_view tier,
                                                             Cohort cohort) const {
    return has_variants_ ? VariantFor(owner, tier, cohort) : usual_;
  }

  /// True if the rule applies at this time: it is in its schedule, and so is one of its limits.
  [[nodiscard]] bool IsInForce(WallTime now) const { return !is_timed_ || IsScheduled(now); }
  [[nodiscard]] bool has_rollout() const { return has_rollout_; }
  /// Whether some of the rule's limits may not apply: see AppliesAt.
  [[nodiscard]] bool has_partial_limits() const { return has_partial_limits_; }

  [[nodiscard]] const rules::Rule& rule() const { return *rule_; }
  [[nodiscard]] bool final() const { return final_; }
  [[nodiscard]] const Budget& budget() const { return budget_; }
  /// The first part of the keys, limit by limit.
  [[nodiscard]] const std::vector<std::string>& scopes() const { return scopes_; }

 private:
  void AddOverrides();
  [[nodiscard]] std::span<const rules::NamedLimit> VariantFor(std::string_view owner,
                                                              std::string_view tier,
                                                              Cohort cohort) const;
  [[nodiscard]] bool IsScheduled(WallTime now) const;

  // Much of it is said in the rule as well; but that would be more memory to look at.
  const rules::Rule* rule_;
  std::string tier_;  ///< Empty: all.
  bool final_;
  bool takes_unknown_tiers_;
  bool has_variants_;
  bool is_timed_ = false;  ///< The rule or one of its limits has a schedule.
  bool has_rollout_;
  bool has_partial_limits_ = false;
  std::span<const rules::NamedLimit> usual_;
  std::vector<CompiledCondition> conditions_;  ///< The cheapest first.
  Budget budget_;
  std::vector<std::string> scopes_;
  std::unique_ptr<const PatternTable> overrides_;
};

/// Whether a limit of a rule that is in force applies.
[[nodiscard]] inline bool AppliesAt(const rules::NamedLimit& limit, WallTime now) {
  return !limit.is_absent && limit.schedule.Contains(now);
}

/// The limits of one of the rule's variants, which all have the same names; null if it has none.
[[nodiscard]] const rules::Limits* AnyLimits(const rules::Rule& rule);

/// The limit for calls that lack an attribute of `per`, if the rule denies such calls; else empty.
[[nodiscard]] rules::Limits MakeDenialOfMissing(const rules::Rule& rule);

}  // namespace sluice::match
