#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

namespace sluice {

/// Parses "60s", "5m", "1h30m", "1d", "500 ms", "2 hours", "minute": exact, and clamped at twice
/// the longest window. A number without a unit counts `plain` units; without `plain` it is none.
[[nodiscard]] std::optional<Micros> ParseDuration(std::string_view text,
                                                  std::optional<Micros> plain = std::nullopt);

/// "5m", "90s", "1d": a whole number of the longest unit that has one.
[[nodiscard]] std::string FormatDuration(Micros duration);

/// "1s", "60s", "500ms": as the names of limits have them, in seconds or less.
[[nodiscard]] std::string DurationName(Micros duration);

}  // namespace sluice
