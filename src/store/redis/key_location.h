#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "store/store.h"

/// Assignment of a call's keys to script calls.
namespace sluice::store {

/// Maximum work (WorkOf) of a script call, which blocks Redis: well under a millisecond.
inline constexpr std::size_t kMaxWork = 128;

/// The location of a key: uses with equal locations share a script call.
struct KeyLocation {
  std::uint16_t slot = 0;
  std::uint32_t key = 0;  ///< Distinguishes keys, or groups of keys, of one slot if necessary.

  friend auto operator<=>(const KeyLocation&, const KeyLocation&) = default;
};

/// Returns a separate location for each key of a call, all in `slot`. Calls with the same keys get
/// the same order of locations.
[[nodiscard]] std::vector<KeyLocation> LocationsOfKeys(const StoreCall& call, std::uint16_t slot);

/// Returns whether the call exceeds kMaxWork.
[[nodiscard]] bool ExceedsOneScriptCall(const StoreCall& call);

/// Divides the keys of each slot into groups of at most kMaxWork. `locations` has the slot of each
/// use.
void GroupKeys(const StoreCall& call, std::vector<KeyLocation>& locations);

[[nodiscard]] bool InOneLocation(std::span<const KeyLocation> locations);

}  // namespace sluice::store
