#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::redis {

/// Number of slots of a cluster.
inline constexpr std::uint16_t kSlots = 16384;

/// Returns the slot of a key: a hash of the text between its first '{' and the next '}' if not
/// empty, else of the whole key.
[[nodiscard]] std::uint16_t SlotOf(std::string_view key);

/// Returns a number whose decimal text is a hash tag of the slot.
[[nodiscard]] std::uint32_t TagNumberOf(std::uint16_t slot);

}  // namespace sluice::redis
