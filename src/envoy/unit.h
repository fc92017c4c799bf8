#pragma once

#include <cstdint>
#include <string_view>

#include <sluice/time.h>

namespace sluice::envoy {

/// The time unit of a limit. The numbers are those of Envoy's protocol.
enum class Unit : std::uint8_t {
  kUnknown = 0,  ///< Another duration: see the limit's window.
  kSecond = 1,
  kMinute = 2,
  kHour = 3,
  kDay = 4,
  kMonth = 5,
  kYear = 6,
  kWeek = 7,
};

/// Returns the duration of a unit (a month has 30 days, a year 365); 0 for kUnknown and invalid
/// numbers.
[[nodiscard]] Micros LengthOf(Unit unit);

/// Returns the unit with this duration; kUnknown if there is none.
[[nodiscard]] Unit UnitOf(Micros length);

/// Returns "second" etc.; "" for kUnknown.
[[nodiscard]] std::string_view NameOf(Unit unit);

}  // namespace sluice::envoy
