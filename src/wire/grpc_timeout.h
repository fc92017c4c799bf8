#pragma once

#include <optional>
#include <string_view>

#include <sluice/time.h>

namespace sluice::wire {

/// Parses `grpc-timeout`: up to eight digits and a unit (H, M, S, m, u, n), such as "20m". Rounds
/// up to microseconds. Returns nothing if malformed.
[[nodiscard]] std::optional<Micros> ParseGrpcTimeout(std::string_view text);

}  // namespace sluice::wire
