#include "envoy/unit.h"

#include <array>
#include <chrono>

namespace sluice::envoy {
namespace {

using std::chrono::hours;

struct Known {
  Unit unit;
  std::string_view name;
  Micros length;
};

constexpr std::array kKnown{
    Known{Unit::kSecond, "second", std::chrono::seconds(1)},
    Known{Unit::kMinute, "minute", std::chrono::minutes(1)},
    Known{Unit::kHour, "hour", hours(1)},
    Known{Unit::kDay, "day", hours(24)},
    Known{Unit::kWeek, "week", hours(24 * 7)},
    Known{Unit::kMonth, "month", hours(24 * 30)},
    Known{Unit::kYear, "year", hours(24 * 365)},
};

}  // namespace

Micros LengthOf(Unit unit) {
  for (const Known& known : kKnown) {
    if (known.unit == unit) return known.length;
  }
  return Micros{0};
}

Unit UnitOf(Micros length) {
  for (const Known& known : kKnown) {
    if (known.length == length) return known.unit;
  }
  return Unit::kUnknown;
}

std::string_view NameOf(Unit unit) {
  for (const Known& known : kKnown) {
    if (known.unit == unit) return known.name;
  }
  return "";
}

}  // namespace sluice::envoy
