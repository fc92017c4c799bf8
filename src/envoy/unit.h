#pragma once

#include <cstdint>
#include <string_view>

#include <sluice/time.h>

namespace sluice::envoy {

/// The time unit of a limit. The numbers are those of Envoy's protocol.
enum class Unit : std::uint8_t {
  kUnknown = 0,  ///< Some other time: the limit's window says.
  kSecond = 1,
  kMinute = 2,
  kHour = 3,
  kDay = 4,
  kMonth = 5,
  kYear = 6,
  kWeek = 7,
};

/// A month has 30 days and a year 365. 0 of kUnknown, and of numbers that are no unit.
[[nodiscard]] Micros LengthOf(Unit unit);

/// The unit that is so long; kUnknown if there is none.
[[nodiscard]] Unit UnitOf(Micros length);

/// "second"; "" of kUnknown.
[[nodiscard]] std::string_view NameOf(Unit unit);

}  // namespace sluice::envoy
