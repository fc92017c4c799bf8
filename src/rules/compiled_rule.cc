#include "rules/compiled_rule.h"

#include <algorithm>
#include <charconv>

#include "base/key.h"
#include "rules/rule_demands.h"

namespace sluice::rules {
namespace {

// All variants have the same names in the same order, but some are empty.
const Limits* AnyLimits(const Variants& variants) {
  if (!variants.usual.empty()) return &variants.usual;
  for (const auto& [tier, limits] : variants.by_tier) {
    if (!limits.empty()) return &limits;
  }
  return nullptr;
}

std::vector<std::string> ScopesOf(const Rule& rule) {
  const Limits* limits = AnyLimits(rule.variants);
  for (const Override& each : rule.overrides) {
    if (limits == nullptr) limits = AnyLimits(each.variants);
  }
  std::vector<std::string> scopes;
  if (limits == nullptr) return scopes;
  for (const NamedLimit& limit : *limits) {
    std::string& scope = scopes.emplace_back();
    AppendPercentEncoded(rule.id, scope);
    scope.push_back(':');
    AppendPercentEncoded(limit.name, scope);
  }
  return scopes;
}

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

}  // namespace

CompiledRule::CompiledRule(const Rule& rule, Slots& slots, RegexPool& regexes)
    : rule_(&rule),
      tier_(rule.tier.value_or("")),
      final_(rule.final),
      takes_unknown_tiers_(HasKeyPattern(rule)),
      has_variants_(!rule.overrides.empty() || !rule.variants.by_tier.empty()),
      usual_(rule.variants.usual),
      budget_(rule, slots),
      scopes_(ScopesOf(rule)) {
  for (const Condition& condition : rule.match) conditions_.emplace_back(condition, slots, regexes);
  std::stable_sort(conditions_.begin(), conditions_.end(),
                   [](const auto& a, const auto& b) { return a.effort() < b.effort(); });
  const auto know_cost = [&](const Limits& limits) {
    for (const NamedLimit& limit : limits) {
      if (!limit.cost.attribute.empty()) slots.Intern(limit.cost.attribute);
    }
  };
  const auto know_costs = [&](const Variants& variants) {
    know_cost(variants.usual);
    for (const auto& [tier, limits] : variants.by_tier) know_cost(limits);
  };
  know_costs(rule.variants);
  for (const Override& each : rule.overrides) know_costs(each.variants);
  if (!rule.overrides.empty()) AddOverrides();
}

void CompiledRule::AddOverrides() {
  const bool by_address = !rule_->per || (!rule_->per->empty() && rule_->per->front() == "ip");
  std::vector<Pattern> patterns;
  std::vector<const Pattern*> pointers;
  for (const Override& each : rule_->overrides) {
    patterns.push_back(each.whose);
    if (by_address && each.whose.kind == PatternKind::kExact) {
      patterns.back().text = CanonicalAddressText(each.whose.text);
    }
  }
  for (const Pattern& pattern : patterns) pointers.push_back(&pattern);
  overrides_ = std::make_unique<const PatternTable>(pointers);
}

bool CompiledRule::Holds(const Call& call) const {
  if (!tier_.empty() && tier_ != call[kTierSlot] && (call.tier_known || !takes_unknown_tiers_)) {
    return false;
  }
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const CompiledCondition& condition) { return condition.Holds(call); });
}

std::span<const NamedLimit> CompiledRule::VariantFor(std::string_view owner,
                                                     std::string_view tier) const {
  const Variants* variants = &rule_->variants;
  if (overrides_ && !owner.empty()) {
    const std::uint32_t found = overrides_->Find(owner);
    if (found != PatternTable::kNone) variants = &rule_->overrides[found].variants;
  }
  if (!variants->by_tier.empty()) {
    const auto found = variants->by_tier.find(tier);
    if (found != variants->by_tier.end()) return found->second;
  }
  return variants->usual;
}

std::optional<std::int64_t> CostOf(const Cost& cost, const Slots& slots, const Call& call,
                                   std::int64_t own_cost) {
  if (own_cost == 0) return 0;  // A look takes nothing.
  if (own_cost < 0) return std::nullopt;
  if (cost.constant) return *cost.constant;
  std::int64_t taken = own_cost;
  if (!cost.attribute.empty()) {
    const std::string_view sent = call[slots.Find(cost.attribute)];
    if (!sent.empty()) {
      const auto number = WholeNumber(sent);
      if (!number || *number < 1) return std::nullopt;
      taken = *number;
    }
  }
  if (cost.max_cost && taken > *cost.max_cost) return std::nullopt;
  return std::max(taken, cost.least);
}

}  // namespace sluice::rules
