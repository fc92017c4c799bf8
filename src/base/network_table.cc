#include "base/network_table.h"

#include <algorithm>
#include <bit>
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

NetworkTable::NetworkTable(std::span<const Network> networks)
    : places_(std::bit_ceil(networks.size() * 2 + 2), kNone) {
  entries_.resize(networks.size());
  const std::size_t mask = places_.size() - 1;
  // From the last to the first, so that of equals the first ends up in front.
  for (std::uint32_t n = static_cast<std::uint32_t>(networks.size()); n-- > 0;) {
    const Network& network = networks[n];
    (network.v4 ? v4_prefixes_ : v6_prefixes_).push_back(network.prefix);
    std::size_t i = HashNetwork(network.base, network.prefix) & mask;
    while (places_[i] != kNone && networks[places_[i]] != network) i = (i + 1) & mask;
    entries_[n] = {
        .base = network.base, .next_equal = places_[i], .prefix = network.prefix, .v4 = network.v4};
    places_[i] = n;
  }
  SortLongestFirst(v4_prefixes_);
  SortLongestFirst(v6_prefixes_);
}

std::uint32_t NetworkTable::FirstWith(const Address& address, std::uint8_t prefix) const {
  const Address base = Masked(address, prefix);
  const bool v4 = address.is_v4();
  const std::size_t mask = places_.size() - 1;
  for (std::size_t i = HashNetwork(base, prefix) & mask; places_[i] != kNone; i = (i + 1) & mask) {
    const Entry& entry = entries_[places_[i]];
    if (entry.base == base && entry.prefix == prefix && entry.v4 == v4) return places_[i];
  }
  return kNone;
}

std::uint32_t NetworkTable::Find(const Address& address) const {
  for (const std::uint8_t prefix : address.is_v4() ? v4_prefixes_ : v6_prefixes_) {
    const std::uint32_t i = FirstWith(address, prefix);
    if (i != kNone) return i;
  }
  return kNone;
}

}  // namespace sluice
