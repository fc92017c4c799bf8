#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sluice/time.h>

namespace sluice::simulate {

/// The unit of a number without a date in a trace.
enum class TimeUnit : std::uint8_t {
  kByMagnitude,  ///< Below 10^11 seconds, below 10^14 milliseconds, below 10^17 microseconds, else
                 ///< nanoseconds: right for every date from 1973 on.
  kSeconds,
  kMillis,
  kMicros,
  kNanos,
};

/// Reads a date with a time of day (TimestampForm::kLenient) or a number since 1970, which may have
/// a fraction. Digits below a microsecond are dropped. Nothing if it is neither, or not between
/// 1970 and 2112.
[[nodiscard]] std::optional<WallTime> ParseTime(std::string_view text,
                                                TimeUnit unit = TimeUnit::kByMagnitude);

/// Reads seconds, which may have a fraction: "0.25".
[[nodiscard]] std::optional<Micros> ParseSeconds(std::string_view text);

}  // namespace sluice::simulate
