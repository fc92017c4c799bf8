#include "base/duration.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <sluice/limit.h>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/wide_math.h"

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct Unit {
  Micros length;
  std::array<std::string_view, 5> names;  ///< The first is the one that is printed.
};

constexpr std::array<Unit, 7> kUnits = {{
    {Micros{1}, {"us", "µs", "microsecond", "microseconds"}},
    {milliseconds(1), {"ms", "millisecond", "milliseconds"}},
    {seconds(1), {"s", "sec", "secs", "second", "seconds"}},
    {minutes(1), {"m", "min", "mins", "minute", "minutes"}},
    {hours(1), {"h", "hr", "hrs", "hour", "hours"}},
    {hours(24), {"d", "day", "days"}},
    {hours(24 * 7), {"w", "week", "weeks"}},
}};

std::optional<Micros> UnitNamed(std::string_view text) {
  const std::string name = LowerCase(text);
  for (const Unit& unit : kUnits) {
    for (const std::string_view known : unit.names) {
      if (!name.empty() && name == known) return unit.length;
    }
  }
  return std::nullopt;
}

bool EndsUnit(char c) {
  return c == ' ' || c == '\t' || IsDigit(c) || c == '.' || c == '-' || c == '+';
}

std::string_view TakeUnit(std::string_view& text) {
  const auto* const end = std::find_if(text.begin(), text.end(), EndsUnit);
  const std::string_view unit(text.begin(), end);
  text = TrimBlanks(text.substr(unit.size()));
  return unit;
}

// amount · unit, if that is a whole number of microseconds.
std::optional<Micros> Times(const Decimal& amount, Micros unit) {
  const Wide product = Wide{amount.digits} * unit.count();
  const Wide divisor = PowerOfTen(amount.scale);
  if (product % divisor != 0) return std::nullopt;
  const Wide most = Wide{kMaxWindow.count()} * 2;
  return Micros{static_cast<std::int64_t>(std::clamp(product / divisor, -most, most))};
}

}  // namespace

std::optional<Micros> ParseDuration(std::string_view text, std::optional<Micros> plain) {
  text = TrimBlanks(text);
  if (const auto number = ParseDecimal(text)) {
    return plain ? Times(*number, *plain) : std::nullopt;
  }
  if (const auto unit = UnitNamed(text)) return unit;  // "minute"
  if (text.empty()) return std::nullopt;
  Micros sum{0};
  while (!text.empty()) {
    const auto amount = TakeDecimal(text);
    if (!amount || amount->digits < 0) return std::nullopt;
    text = TrimBlanks(text);
    const auto unit = UnitNamed(TakeUnit(text));
    const auto part = unit ? Times(*amount, *unit) : std::nullopt;
    if (!part) return std::nullopt;
    sum = std::min(sum + *part, kMaxWindow * 2);
  }
  return sum;
}

std::string FormatDuration(Micros duration) {
  for (auto unit = kUnits.rbegin(); unit != kUnits.rend(); ++unit) {
    // Weeks are written as days.
    if (unit->length > hours(24) || duration == Micros{0}) continue;
    if (duration % unit->length == Micros{0}) {
      return std::to_string(duration / unit->length).append(unit->names.front());
    }
  }
  return "0s";
}

std::string DurationName(Micros duration) {
  const std::int64_t count = duration.count();
  if (count % 1'000'000 == 0) return std::to_string(count / 1'000'000) + "s";
  if (count % 1'000 == 0) return std::to_string(count / 1'000) + "ms";
  return std::to_string(count) + "us";
}

}  // namespace sluice
