#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::redis {

/// A cluster's keys are dealt out in so many slots.
inline constexpr std::uint16_t kSlots = 16384;

/// The slot of a key: by what stands between its first '{' and the next '}', if that is not
/// nothing, else by all of it.
[[nodiscard]] std::uint16_t SlotOf(std::string_view key);

/// A number that, as decimal text, is a hash tag of the slot.
[[nodiscard]] std::uint32_t TagNumberOf(std::uint16_t slot);

}  // namespace sluice::redis
