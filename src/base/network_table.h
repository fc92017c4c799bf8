#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_index.h"
#include "base/network.h"

namespace sluice {

/// Which of many networks hold an address: one look into a hash table for each length of prefix
/// that occurs, however many networks there are. Immutable, so any thread may look; allocates
/// nothing then.
class NetworkTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  NetworkTable() = default;
  /// Networks are known by their place in the list.
  explicit NetworkTable(std::span<const Network> networks);

  /// The longest network that holds the address, of equals the first; or kNone.
  [[nodiscard]] std::uint32_t Find(const Address& address) const;

  /// Calls `found` with each network that holds the address, of equals with all.
  template <typename Found>
  void ForEach(const Address& address, const Found& found) const {
    for (const std::uint8_t prefix : address.is_v4() ? v4_prefixes_ : v6_prefixes_) {
      for (std::uint32_t i = FirstWith(address, prefix); i != kNone; i = entries_[i].next_equal) {
        found(i);
      }
    }
  }

  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    Address base;
    std::uint32_t next_equal = kNone;
    std::uint8_t prefix = 0;
    bool v4 = false;
  };

  struct Place {
    std::uint32_t entry = kNone;
    [[nodiscard]] bool empty() const { return entry == kNone; }
  };

  [[nodiscard]] std::uint32_t FirstWith(const Address& address, std::uint8_t prefix) const;

  std::vector<std::uint8_t> v4_prefixes_;  ///< The longest first.
  std::vector<std::uint8_t> v6_prefixes_;
  std::vector<Entry> entries_;  ///< In the order of the list.
  FlatIndex<Place> places_;
};

}  // namespace sluice
