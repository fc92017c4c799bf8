#pragma once

#include <optional>
#include <string_view>

#include <sluice/time.h>

namespace sluice::wire {

/// Parses `grpc-timeout`: up to eight digits and a unit (H, M, S, m, u, n), as "20m". Parts of a
/// microsecond count as a whole one. Nothing: it is malformed.
[[nodiscard]] std::optional<Micros> ParseGrpcTimeout(std::string_view text);

}  // namespace sluice::wire
