#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/budget.h"
#include "rules/call.h"
#include "rules/condition.h"
#include "rules/model.h"
#include "rules/pattern_table.h"

namespace sluice::rules {

/// A rule of the model, made ready. The rule must outlive it.
class CompiledRule {
 public:
  CompiledRule(const Rule& rule, Slots& slots, RegexPool& regexes);

  /// True if the call is of the rule's tier and all conditions hold.
  [[nodiscard]] bool Holds(const Call& call) const;

  /// The tier that the rule takes the call for.
  [[nodiscard]] std::string_view TierOf(const Call& call) const {
    return tier_.empty() ? call[kTierSlot] : std::string_view(tier_);
  }

  /// The limits for a caller of a tier; empty if the rule has no numbers for it.
  [[nodiscard]] std::span<const NamedLimit> LimitsFor(std::string_view owner,
                                                      std::string_view tier) const {
    return has_variants_ ? VariantFor(owner, tier) : usual_;
  }

  [[nodiscard]] const Rule& rule() const { return *rule_; }
  [[nodiscard]] bool final() const { return final_; }
  [[nodiscard]] const Budget& budget() const { return budget_; }
  /// The first part of the keys, limit by limit.
  [[nodiscard]] const std::vector<std::string>& scopes() const { return scopes_; }

 private:
  void AddOverrides();
  [[nodiscard]] std::span<const NamedLimit> VariantFor(std::string_view owner,
                                                       std::string_view tier) const;

  // Much of it is said in the rule as well; but that would be more memory to look at.
  const Rule* rule_;
  std::string tier_;  ///< Empty: all.
  bool final_;
  bool takes_unknown_tiers_;
  bool has_variants_;
  std::span<const NamedLimit> usual_;
  std::vector<CompiledCondition> conditions_;  ///< The cheapest first.
  Budget budget_;
  std::vector<std::string> scopes_;
  std::unique_ptr<const PatternTable> overrides_;
};

/// What a call takes from a limit. Nothing if what it sent as a cost makes no sense.
[[nodiscard]] std::optional<std::int64_t> CostOf(const Cost& cost, const Slots& slots,
                                                 const Call& call, std::int64_t own_cost);

}  // namespace sluice::rules
