#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "redis/server_address.h"
#include "resp/value.h"

namespace sluice::redis {

/// Slots owned by one server.
struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  ServerAddress owner{};
};

/// Parses the reply to CLUSTER SLOTS, which every version of Redis and Valkey supports.
/// `asked_host` replaces the host of servers that don't know their own. Returns nothing if the
/// reply is invalid or has no slots.
[[nodiscard]] std::optional<std::vector<SlotRange>> ReadSlotRanges(resp::Value reply,
                                                                   const std::string& asked_host);

}  // namespace sluice::redis
