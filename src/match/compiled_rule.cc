#include "match/compiled_rule.h"

#include <algorithm>

#include "base/key.h"
#include "base/parse_number.h"
#include "match/rule_demands.h"

namespace sluice::match {
namespace {

// All variants have the same names in the same order, but some are empty.
const rules::Limits* AnyOf(const rules::LimitVariants& variants) {
  if (!variants.usual.empty()) return &variants.usual;
  for (const auto& [tier, limits] : variants.by_tier) {
    if (!limits.empty()) return &limits;
  }
  return nullptr;
}

std::vector<std::string> ScopesOf(const rules::Rule& rule) {
  const rules::Limits* const limits = AnyLimits(rule);
  std::vector<std::string> scopes;
  if (limits == nullptr) return scopes;
  for (const rules::NamedLimit& limit : *limits) {
    std::string& scope = scopes.emplace_back();
    AppendPercentEncoded(rule.id, scope);
    scope.push_back(':');
    AppendPercentEncoded(limit.name, scope);
  }
  return scopes;
}

}  // namespace

CompiledRule::CompiledRule(const rules::Rule& rule, Slots& slots, RegexPool& regexes)
    : rule_(&rule),
      tier_(rule.tier.value_or("")),
      final_(rule.final),
      takes_unknown_tiers_(HasKeyPattern(rule)),
      has_variants_(!rule.overrides.empty() || !rule.variants.by_tier.empty() || rule.rollout),
      has_rollout_(rule.rollout.has_value()),
      usual_(rule.variants.usual),
      budget_(rule, slots),
      scopes_(ScopesOf(rule)) {
  for (const rules::Condition& condition : rule.match)
    conditions_.emplace_back(condition, slots, regexes);
  std::stable_sort(conditions_.begin(), conditions_.end(),
                   [](const auto& a, const auto& b) { return a.effort() < b.effort(); });
  const auto know_cost = [&](const rules::Limits& limits) {
    for (const rules::NamedLimit& limit : limits) {
      if (!limit.cost.attribute.empty()) slots.Intern(limit.cost.attribute);
    }
  };
  const auto know_costs = [&](const rules::LimitVariants& variants) {
    know_cost(variants.usual);
    for (const auto& [tier, limits] : variants.by_tier) know_cost(limits);
  };
  know_costs(rule.variants);
  if (rule.rollout) know_costs(rule.rollout->from);
  for (const rules::Override& each : rule.overrides) {
    know_costs(each.variants);
    know_costs(each.from);
  }
  const rules::Limits* const limits = AnyLimits(rule);
  const bool is_limit_timed = limits != nullptr && std::any_of(limits->begin(), limits->end(),
                                                               [](const rules::NamedLimit& limit) {
                                                                 return !limit.schedule.always();
                                                               });
  is_timed_ = is_limit_timed || !rule.schedule.always();
  has_partial_limits_ = is_limit_timed || (rule.rollout && rule.rollout->has_from);
  if (!rule.overrides.empty()) AddOverrides();
}

void CompiledRule::AddOverrides() {
  const bool by_address = !rule_->per || (!rule_->per->empty() && rule_->per->front() == "ip");
  std::vector<rules::Pattern> patterns;
  std::vector<const rules::Pattern*> pointers;
  for (const rules::Override& each : rule_->overrides) {
    patterns.push_back(each.whose);
    if (by_address && each.whose.kind == rules::PatternKind::kExact) {
      patterns.back().text = CanonicalAddressText(each.whose.text);
    }
  }
  for (const rules::Pattern& pattern : patterns) pointers.push_back(&pattern);
  overrides_ = std::make_unique<const PatternTable>(pointers);
}

bool CompiledRule::Holds(const MatchInput& call) const {
  if (!tier_.empty() && tier_ != call[kTierSlot] && (call.tier_known || !takes_unknown_tiers_)) {
    return false;
  }
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const CompiledCondition& condition) { return condition.Holds(call); });
}

// All variants have the same schedules.
bool CompiledRule::IsScheduled(WallTime now) const {
  if (!rule_->schedule.Contains(now)) return false;
  const rules::Limits* const limits = AnyLimits(*rule_);
  return limits == nullptr ||
         std::any_of(limits->begin(), limits->end(), [now](const rules::NamedLimit& limit) {
           return limit.schedule.Contains(now);
         });
}

std::span<const rules::NamedLimit> CompiledRule::VariantFor(std::string_view owner,
                                                            std::string_view tier,
                                                            Cohort cohort) const {
  const bool is_old = cohort == Cohort::kOld;
  if (is_old && !rule_->rollout->has_from) return {};
  const rules::LimitVariants* variants = is_old ? &rule_->rollout->from : &rule_->variants;
  if (overrides_ && !owner.empty()) {
    const std::uint32_t found = overrides_->Find(owner);
    if (found != PatternTable::kNone) {
      const rules::Override& taken = rule_->overrides[found];
      variants = is_old ? &taken.from : &taken.variants;
    }
  }
  if (!variants->by_tier.empty()) {
    const auto found = variants->by_tier.find(tier);
    if (found != variants->by_tier.end()) return found->second;
  }
  return variants->usual;
}

const rules::Limits* AnyLimits(const rules::Rule& rule) {
  const rules::Limits* limits = AnyOf(rule.variants);
  for (const rules::Override& each : rule.overrides) {
    if (limits == nullptr) limits = AnyOf(each.variants);
  }
  return limits;
}

rules::Limits MakeDenialOfMissing(const rules::Rule& rule) {
  const rules::Limits* const limits = AnyLimits(rule);
  if (rule.on_missing != rules::OnMissing::kDeny || limits == nullptr) return {};
  rules::Limits denial(1, limits->front());
  denial.front().reject_all = true;
  denial.front().is_for_missing = true;
  denial.front().schedule = {};
  denial.front().shadow = std::all_of(limits->begin(), limits->end(),
                                      [](const rules::NamedLimit& limit) { return limit.shadow; });
  denial.front().cost = {};
  denial.front().cost.constant = 1;
  return denial;
}

std::optional<std::int64_t> CostOf(const rules::Cost& cost, const Slots& slots,
                                   const MatchInput& call, std::int64_t own_cost) {
  if (own_cost == 0) return 0;  // A look takes nothing.
  if (own_cost < 0) return std::nullopt;
  if (cost.constant) return cost.constant;
  std::int64_t taken = own_cost;
  if (!cost.attribute.empty()) {
    const std::string_view sent = call[slots.Find(cost.attribute)];
    if (!sent.empty()) {
      const auto number = ParseNumber<std::int64_t>(sent);
      if (!number || *number < 1) return std::nullopt;
      taken = *number;
    }
  }
  if (cost.max_cost && taken > *cost.max_cost) return std::nullopt;
  return std::max(taken, cost.least);
}

}  // namespace sluice::match
