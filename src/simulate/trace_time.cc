#include "simulate/trace_time.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "base/ascii.h"
#include "base/timestamp.h"

namespace sluice::simulate {
namespace {

// Takes a fraction's digits off the front; what they are in units of 10^-places, rounded down.
std::int64_t TakeFraction(std::string_view& text, int places) {
  std::int64_t value = 0;
  for (; !text.empty() && IsDigit(text.front()); text.remove_prefix(1)) {
    if (places-- > 0) value = 10 * value + (text.front() - '0');
  }
  for (; places > 0; --places) value *= 10;
  return value;
}

// Decimal places of a unit in microseconds: a second has 6. Below 0 for nanoseconds.
int PlacesOf(TimeUnit unit, std::int64_t whole) {
  constexpr std::int64_t kMostSeconds = 100'000'000'000;
  switch (unit) {
    case TimeUnit::kSeconds:
      return 6;
    case TimeUnit::kMillis:
      return 3;
    case TimeUnit::kMicros:
      return 0;
    case TimeUnit::kNanos:
      return -3;
    case TimeUnit::kByMagnitude:
      break;
  }
  if (whole < kMostSeconds) return 6;
  if (whole < kMostSeconds * 1000) return 3;
  return whole < kMostSeconds * 1'000'000 ? 0 : -3;
}

std::optional<Micros> ParseNumber(std::string_view text, TimeUnit unit) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc{} || whole < 0 || !IsDigit(text.front())) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const int places = PlacesOf(unit, whole);
  std::int64_t fraction = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeFraction(text, std::max(places, 0));
  }
  if (!text.empty()) return std::nullopt;
  if (places < 0) return Micros(whole / 1000);
  std::int64_t scale = 1;
  for (int i = 0; i < places; ++i) scale *= 10;
  if (whole > kMaxTime.time_since_epoch().count() / scale) return std::nullopt;
  return Micros(whole * scale + fraction);
}

}  // namespace

std::optional<WallTime> ParseTime(std::string_view text, TimeUnit unit) {
  if (text.size() > 4 && text[4] == '-') return ParseTimestamp(text, TimestampForm::kLenient);
  const auto since = ParseNumber(text, unit);
  return since && WallTime(*since) <= kMaxTime ? std::optional(WallTime(*since)) : std::nullopt;
}

std::optional<Micros> ParseSeconds(std::string_view text) {
  return ParseNumber(text, TimeUnit::kSeconds);
}

}  // namespace sluice::simulate
