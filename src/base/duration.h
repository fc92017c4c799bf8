#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

namespace sluice {

/// Parses "60s", "5m", "1h30m", "1d", "500 ms", "2 hours", "minute". Exact; clamped to twice the
/// longest window. A number without a unit is in units of `plain`, and invalid without `plain`.
[[nodiscard]] std::optional<Micros> ParseDuration(std::string_view text,
                                                  std::optional<Micros> plain = std::nullopt);

/// Returns a whole number of the largest possible unit: "5m", "90s", "1d".
[[nodiscard]] std::string FormatDuration(Micros duration);

/// Returns the duration as it is written in names of limits, in seconds or less: "60s", "500ms".
[[nodiscard]] std::string DurationName(Micros duration);

}  // namespace sluice
