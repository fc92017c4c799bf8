#include "match/rule_index.h"

#include "match/rule_index_builder.h"
#include "match/value_hash.h"

namespace sluice::match {

RuleIndex::RuleIndex(std::span<const rules::Rule* const> rules, const Slots& slots)
    : RuleIndex(RuleIndexBuilder(rules, slots).Build()) {}

void RuleIndex::HashValues(MatchInput& call) const {
  for (const Slot slot : call.present) {
    if (!slots_[slot].hashed) continue;
    call.hashes[slot] = slots_[slot].folded ? HashFolded(call[slot]) : HashText(call[slot]);
  }
}

void RuleIndex::FindTogether(const MatchInput& call, const std::vector<Slot>& slots,
                             std::vector<std::uint32_t>& found) const {
  std::uint64_t key = 0;
  for (const Slot slot : slots) {
    if (!call.Has(slot)) return;
    key = AddToHash(key, slot, call.hashes[slot]);
  }
  const auto rules = by_values_.Find(key);
  found.insert(found.end(), rules.begin(), rules.end());
}

void RuleIndex::FindByValues(const MatchInput& call, std::vector<std::uint32_t>& found) const {
  for (const Slot slot : call.present) {
    if (!slots_[slot].single || !call.Has(slot)) continue;
    const auto rules = by_values_.Find(AddToHash(0, slot, call.hashes[slot]));
    found.insert(found.end(), rules.begin(), rules.end());
  }
  for (const auto& slots : together_) FindTogether(call, slots, found);
  for (const auto& slots : with_endpoint_) FindTogether(call, slots, found);
}

void RuleIndex::FindByTemplate(MatchInput& call, std::vector<std::uint32_t>& found) const {
  const SlotUse& use = slots_[kEndpointSlot];
  const std::string_view text = call.endpoint_template;
  if (use.literals) {
    literals_[kEndpointSlot].ForEach(text, [&](std::uint32_t rule) { found.push_back(rule); });
  }
  if (use.folded_literals) {
    folded_literals_[kEndpointSlot].ForEach(text,
                                            [&](std::uint32_t rule) { found.push_back(rule); });
  }
  if (!use.hashed) return;
  call.hashes[kEndpointSlot] = use.folded ? HashFolded(text) : HashText(text);
  if (use.single) {
    const auto rules = by_values_.Find(AddToHash(0, kEndpointSlot, call.hashes[kEndpointSlot]));
    found.insert(found.end(), rules.begin(), rules.end());
  }
  for (const auto& slots : with_endpoint_) FindTogether(call, slots, found);
}

void RuleIndex::Find(MatchInput& call, std::vector<std::uint32_t>& found) const {
  HashValues(call);
  FindByValues(call, found);
  const auto take = [&](std::uint32_t rule) { found.push_back(rule); };
  for (const Slot slot : call.present) {
    if (slots_[slot].literals) literals_[slot].ForEach(call[slot], take);
    if (slots_[slot].folded_literals) folded_literals_[slot].ForEach(call[slot], take);
  }
  if (!call.endpoint_template.empty()) FindByTemplate(call, found);
  if (call.address && !networks_.empty()) {
    networks_.ForEach(*call.address,
                      [&](std::uint32_t network) { take(rule_of_network_[network]); });
  }
}

}  // namespace sluice::match
