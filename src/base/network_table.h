#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_index.h"
#include "base/network.h"

namespace sluice {

/// Finds the networks that contain an address, with one hash lookup per prefix length in use.
/// Immutable and thread-safe; lookups don't allocate.
class NetworkTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  NetworkTable() = default;
  /// Networks are identified by their index in the list.
  explicit NetworkTable(std::span<const Network> networks);

  /// Returns the network with the longest prefix that contains the address, the first of equal
  /// ones; or kNone.
  [[nodiscard]] std::uint32_t Find(const Address& address) const;

  /// Calls `found` with each network that contains the address, including all equal ones.
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

  struct Slot {
    std::uint32_t entry = kNone;
    [[nodiscard]] bool empty() const { return entry == kNone; }
  };

  [[nodiscard]] std::uint32_t FirstWith(const Address& address, std::uint8_t prefix) const;

  std::vector<std::uint8_t> v4_prefixes_;  ///< The longest first.
  std::vector<std::uint8_t> v6_prefixes_;
  std::vector<Entry> entries_;  ///< In the order of the list.
  FlatIndex<Slot> index_;
};

}  // namespace sluice
