#include "match/lists.h"

namespace sluice::match {

AccessList::AccessList(std::span<const rules::Pattern> entries) : entries_(entries) {
  std::vector<const rules::Pattern*> keys;
  std::vector<Network> networks;
  for (const rules::Pattern& entry : entries) {
    keys.push_back(&entry);
    if (entry.kind != rules::PatternKind::kCidr) continue;
    networks.push_back(ParseNetwork(entry.text).value());
    network_entries_.push_back(&entry);
  }
  keys_ = PatternTable(keys);
  networks_ = NetworkTable(networks);
}

const rules::Pattern* AccessList::Find(std::string_view api_key,
                                       const std::optional<Address>& address) const {
  if (empty()) return nullptr;
  if (!api_key.empty()) {
    const std::uint32_t found = keys_.Find(api_key);
    if (found != PatternTable::kNone) return &entries_[found];
  }
  if (address) {
    const std::uint32_t found = networks_.Find(*address);
    if (found != NetworkTable::kNone) return network_entries_[found];
  }
  return nullptr;
}

}  // namespace sluice::match
