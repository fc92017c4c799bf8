#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "store/store.h"

/// Which keys of a call one script call can cover.
namespace sluice::store {

/// A script call blocks all others; this much work (WorkOf) takes Redis well under a millisecond.
inline constexpr std::size_t kMaxWork = 128;

/// Where the key of a use lives: uses of one location share a script call.
struct KeyLocation {
  std::uint16_t slot = 0;
  std::uint32_t key = 0;  ///< Separates keys, or groups of keys, of one slot where necessary.

  friend auto operator<=>(const KeyLocation&, const KeyLocation&) = default;
};

/// A location of its own for each key of a call whose keys all live in `slot`. The order of
/// locations is the same for all callers that name the same keys.
[[nodiscard]] std::vector<KeyLocation> LocationsOfKeys(const StoreCall& call, std::uint16_t slot);

/// Whether the call is more work than one script call may do.
[[nodiscard]] bool ExceedsOneScriptCall(const StoreCall& call);

/// Divides the keys of each slot into groups of at most kMaxWork. `locations` has the slot of each
/// use.
void GroupKeys(const StoreCall& call, std::vector<KeyLocation>& locations);

[[nodiscard]] bool InOneLocation(std::span<const KeyLocation> locations);

}  // namespace sluice::store
