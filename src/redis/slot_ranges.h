#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "redis/server_address.h"
#include "resp/value.h"

namespace sluice::redis {

/// Slots that one server has.
struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  ServerAddress owner{};
};

/// Reads the reply to CLUSTER SLOTS, which every version of Redis and Valkey knows, of a server
/// that was reached at `asked_host`: who does not know its own host is there, too. Nothing if it is
/// no such reply, or has no slots.
[[nodiscard]] std::optional<std::vector<SlotRange>> ReadSlotRanges(resp::Value reply,
                                                                   const std::string& asked_host);

}  // namespace sluice::redis
