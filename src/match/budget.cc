#include "match/budget.h"

#include <algorithm>

#include "base/key.h"

namespace sluice::match {
namespace {

// Without it, a made-up API key that looks like an address would share that address's budget.
constexpr std::string_view kByAddress = "ip";

std::string_view ValueOf(const MatchInput& call, Slot slot, std::string_view tier) {
  if (slot == kTierSlot) return tier;
  if (slot == kEndpointSlot && !call.endpoint_template.empty()) return call.endpoint_template;
  return call[slot];
}

// What a budget is counted under for an attribute: its value, unless something is given that stands
// for it. Who has no key (or none that is known) is not known by a key's hash either.
std::string_view CountedAs(const MatchInput& call, Slot slot, std::string_view tier) {
  if (slot == kApiKeySlot && call.Has(kApiKeySlot) && call.Has(kApiKeyHashSlot)) {
    return call[kApiKeyHashSlot];
  }
  if (slot == kIpSlot && call.Has(kIpSlot) && call.Has(kIpNetworkSlot)) return call[kIpNetworkSlot];
  return ValueOf(call, slot, tier);
}

}  // namespace

Budget::Budget(const rules::Rule& rule, Slots& slots) : rule_id_(rule.id), client_(!rule.per) {
  if (rule.rollout && !rule.rollout->by.empty()) by_ = slots.Intern(rule.rollout->by);
  if (client_) {
    if (!rule.hash_tag.empty()) tag_ = slots.Intern(rule.hash_tag);
    return;
  }
  for (const std::string& attribute : *rule.per) rest_.push_back(slots.Intern(attribute));
  if (rest_.empty()) return;
  first_ = rest_.front();
  tag_ = rule.hash_tag.empty() ? first_ : slots.Intern(rule.hash_tag);
  const auto tag = std::find(rest_.begin(), rest_.end(), tag_);
  if (tag != rest_.end()) rest_.erase(tag);
}

bool Budget::Find(const MatchInput& call, std::string_view tier, std::string& text,
                  Whose& whose) const {
  whose = {};
  whose.begin = text.size();
  if (client_ ? FindClient(call, tier, text, whose) : FindNamed(call, tier, text, whose)) {
    return true;
  }
  text.resize(whose.begin);
  whose = {.tag = rule_id_, .owner = {}, .fixed_rest = kMissingRest, .begin = whose.begin};
  return false;
}

std::string_view Budget::RolloutValue(const MatchInput& call, std::string_view tier) const {
  const Slot client = call.Has(kApiKeySlot) ? kApiKeySlot : kIpSlot;
  return CountedAs(call, by_ == kNoSlot ? client : by_, tier);
}

bool Budget::FindNamed(const MatchInput& call, std::string_view tier, std::string& text,
                       Whose& whose) const {
  if (first_ == kNoSlot) {
    whose.tag = rule_id_;
    return true;
  }
  whose.tag = CountedAs(call, tag_, tier);
  whose.owner = ValueOf(call, first_, tier);
  if (whose.tag.empty() || whose.owner.empty()) return false;
  for (const Slot slot : rest_) {
    const std::string_view value = CountedAs(call, slot, tier);
    if (value.empty()) return false;
    if (text.size() > whose.begin) text.push_back(':');
    AppendPercentEncoded(value, text);
  }
  return true;
}

bool Budget::FindClient(const MatchInput& call, std::string_view tier, std::string& text,
                        Whose& whose) const {
  const Slot slot = call.Has(kApiKeySlot) ? kApiKeySlot : kIpSlot;
  whose.owner = call[slot];
  whose.tag = CountedAs(call, tag_ == kNoSlot ? slot : tag_, tier);
  if (whose.owner.empty() || whose.tag.empty()) return false;
  if (tag_ == kNoSlot || tag_ == slot) {
    if (slot == kIpSlot) whose.fixed_rest = kByAddress;
    return true;
  }
  AppendPercentEncoded(CountedAs(call, slot, tier), text);
  if (slot == kIpSlot) text.append(":").append(kByAddress);
  return true;
}

}  // namespace sluice::match
