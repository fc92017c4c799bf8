#include "plain_loop.h"

#include <algorithm>

#include "match/limit_cost.h"

namespace sluice::bench {

using match::CompiledRule;
using match::kEndpointSlot;
using match::kIpSlot;
using match::kTierSlot;

PlainLoop::PlainLoop(const match::RuleSet& rules)
    : set_(rules), templates_(rules.file().endpoints) {
  match::RegexPool regexes;
  for (const rules::Rule& rule : rules.file().rules) rules_.emplace_back(rule, slots_, regexes);
  call_.values.resize(slots_.size());
}

std::size_t PlainLoop::Find(match::Attributes attributes, std::int64_t cost) {
  std::fill(call_.values.begin(), call_.values.end(), std::string_view());
  for (const Attribute& attribute : attributes) {
    const match::Slot slot = slots_.Find(attribute.name);
    if (slot != match::kNoSlot) call_.values[slot] = attribute.value;
  }
  call_.address = ParseAddress(call_[kIpSlot]);
  call_.tier_known = call_.Has(kTierSlot);
  if (!call_.tier_known) call_.values[kTierSlot] = set_.file().default_tier;
  call_.values[kEndpointSlot] = match::PathOf(call_[kEndpointSlot]);
  call_.endpoint_template = templates_.Find(call_[kEndpointSlot]);
  text_.clear();
  std::size_t met = 0;
  for (const CompiledRule& rule : rules_) {
    if (!rule.Holds(call_)) continue;
    match::Whose whose;
    const std::string_view tier = rule.TierOf(call_);
    if (!rule.budget().Find(call_, tier, text_, whose)) continue;
    for (const rules::NamedLimit& limit : rule.LimitsFor(whose.owner, tier, match::Cohort::kAll)) {
      if (!match::CostOf(limit, cost, set_, slots_, call_).refusal) ++met;
    }
  }
  return met;
}

}  // namespace sluice::bench
