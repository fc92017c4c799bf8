#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

namespace sluice {

enum class TimestampForm : std::uint8_t {
  kRfc3339,  ///< "2026-11-15T23:59:59.123Z": with seconds and a zone such as Z or +01:00.
  kLenient,  ///< Also a space for the T, a comma for the point, +0100, no zone for UTC, no seconds.
};

/// Parses a date with a time of day. Digits below a microsecond are dropped. Returns nothing if the
/// text is invalid, or not between 1970 and kMaxTime (2112).
[[nodiscard]] std::optional<WallTime> ParseTimestamp(std::string_view text,
                                                     TimestampForm form = TimestampForm::kRfc3339);

/// Returns "2026-11-15T12:00:00.25Z", with as many fractional digits as necessary.
[[nodiscard]] std::string FormatTimestamp(WallTime time);

}  // namespace sluice
