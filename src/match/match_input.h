#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_index.h"
#include "base/network.h"

namespace sluice::match {

/// The number of an attribute in a rule set. Those that mean something of their own have fixed
/// ones.
using Slot = std::uint32_t;
inline constexpr Slot kApiKeySlot = 0;
inline constexpr Slot kIpSlot = 1;
inline constexpr Slot kEndpointSlot = 2;
inline constexpr Slot kTierSlot = 3;
inline constexpr Slot kApiKeyHashSlot = 4;
inline constexpr Slot kIpNetworkSlot = 5;
inline constexpr Slot kNoSlot = ~Slot{0};

/// The attributes that a rule set knows. A call's others don't matter to it.
class Slots {
 public:
  Slots();

  /// The attribute's slot, a new one if it has none yet.
  Slot Intern(std::string_view name);
  /// kNoSlot if there is none.
  [[nodiscard]] Slot Find(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  struct Place {
    std::string name;
    std::uint64_t packed = 0;  ///< The name, if it is short: most are, and a call has several.
    Slot slot = kNoSlot;
    [[nodiscard]] bool empty() const { return slot == kNoSlot; }
  };

  FlatIndex<Place> places_;  ///< At most a quarter full.
  std::size_t count_ = 0;
};

/// A call as rules see it: its attributes by slot, and values derived from them once.
struct MatchInput {
  std::vector<std::string_view> values;  ///< By slot; empty: the call has none.
  std::vector<std::uint64_t> hashes;     ///< By slot; only where the index asks for it.
  std::vector<Slot> present;             ///< The slots that have a value or had one in the call.
  std::string_view raw_key;              ///< The API key even if it is not a known one.
  std::string_view endpoint_template;    ///< Empty: none.
  bool tier_known = false;               ///< From an attribute or the file's `keys`.
  std::optional<Address> address;
  std::array<char, kMaxAddressText> address_text;
  std::string host_text;  ///< The host as rules see it, where it was written in another way.

  [[nodiscard]] std::string_view operator[](Slot slot) const { return values[slot]; }
  [[nodiscard]] bool Has(Slot slot) const { return !values[slot].empty(); }
};

/// An endpoint without its query and fragment.
[[nodiscard]] std::string_view PathOf(std::string_view endpoint);

}  // namespace sluice::match
