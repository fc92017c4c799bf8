#include "base/network_table.h"

#include <algorithm>
#include <functional>

#include "base/text_hash.h"

namespace sluice {
namespace {

std::uint64_t HashNetwork(const Address& base, std::uint8_t prefix) {
  return MixHash(base.high ^ 0x9E3779B97F4A7C15 ^ prefix, base.low ^ 0xC2B2AE3D27D4EB4F);
}

void SortLongestFirst(std::vector<std::uint8_t>& prefixes) {
  std::sort(prefixes.begin(), prefixes.end(), std::greater<>());
  prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
}

}  // namespace

NetworkTable::NetworkTable(std::span<const Network> networks) : index_(networks.size()) {
  entries_.resize(networks.size());
  // From the last to the first, so that of equals the first ends up in front.
  for (std::uint32_t n = static_cast<std::uint32_t>(networks.size()); n-- > 0;) {
    const Network& network = networks[n];
    (network.v4 ? v4_prefixes_ : v6_prefixes_).push_back(network.prefix);
    Slot& slot =
        index_.FindOrEmpty(HashNetwork(network.base, network.prefix),
                           [&](const Slot& each) { return networks[each.entry] == network; });
    entries_[n] = {
        .base = network.base, .next_equal = slot.entry, .prefix = network.prefix, .v4 = network.v4};
    slot.entry = n;
  }
  SortLongestFirst(v4_prefixes_);
  SortLongestFirst(v6_prefixes_);
}

std::uint32_t NetworkTable::FirstWith(const Address& address, std::uint8_t prefix) const {
  const Address base = Masked(address, prefix);
  const bool v4 = address.is_v4();
  const Slot* const slot = index_.Find(HashNetwork(base, prefix), [&](const Slot& each) {
    const Entry& entry = entries_[each.entry];
    return entry.base == base && entry.prefix == prefix && entry.v4 == v4;
  });
  return slot == nullptr ? kNone : slot->entry;
}

std::uint32_t NetworkTable::Find(const Address& address) const {
  for (const std::uint8_t prefix : address.is_v4() ? v4_prefixes_ : v6_prefixes_) {
    const std::uint32_t i = FirstWith(address, prefix);
    if (i != kNone) return i;
  }
  return kNone;
}

}  // namespace sluice
