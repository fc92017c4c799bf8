#include "trace_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>

namespace sluice::app {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes exactly `count` digits off the front.
std::optional<int> TakeDigits(std::string_view& text, std::size_t count) {
  if (text.size() < count || !std::all_of(text.begin(), text.begin() + count, IsDigit)) {
    return std::nullopt;
  }
  int number = 0;
  std::from_chars(text.data(), text.data() + count, number);
  text.remove_prefix(count);
  return number;
}

bool TakeOneOf(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Takes "<separator><two digits>" off the front, if `text` goes on like that and not beyond `most`.
std::optional<int> TakePart(std::string_view& text, char separator, int most) {
  if (!TakeOneOf(text, {&separator, 1})) return std::nullopt;
  const auto number = TakeDigits(text, 2);
  return number && *number <= most ? number : std::nullopt;
}

// Takes a fraction's digits off the front; what they are in units of 10^-places, rounded down.
std::int64_t TakeFraction(std::string_view& text, int places) {
  std::int64_t value = 0;
  for (; !text.empty() && IsDigit(text.front()); text.remove_prefix(1)) {
    if (places-- > 0) value = 10 * value + (text.front() - '0');
  }
  for (; places > 0; --places) value *= 10;
  return value;
}

// How much the zone at the end is ahead of UTC. The text must end there.
std::optional<std::chrono::minutes> ReadZone(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return std::chrono::minutes(0);
  const int sign = text.front() == '-' ? -1 : 1;
  if (!TakeOneOf(text, "+-")) return std::nullopt;
  const auto hours = TakeDigits(text, 2);
  if (!hours || *hours > 23) return std::nullopt;
  int minutes = 0;
  if (!text.empty()) {
    TakeOneOf(text, ":");
    const auto found = TakeDigits(text, 2);
    if (!found || *found > 59 || !text.empty()) return std::nullopt;
    minutes = *found;
  }
  return std::chrono::minutes(sign * (60 * *hours + minutes));
}

std::optional<WallTime> ParseDate(std::string_view text) {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): of the calendar.
  const auto year_number = TakeDigits(text, 4);
  const auto month_number = TakePart(text, '-', 12);
  const auto day_number = TakePart(text, '-', 31);
  if (!year_number || !month_number || !day_number) return std::nullopt;
  const year_month_day date(year(*year_number), month(static_cast<unsigned>(*month_number)),
                            day(static_cast<unsigned>(*day_number)));
  if (!date.ok() || !TakeOneOf(text, "Tt ")) return std::nullopt;
  const auto hour = TakeDigits(text, 2);
  const auto minute = TakePart(text, ':', 59);
  if (!hour || *hour > 23 || !minute) return std::nullopt;
  Micros second{0};
  if (text.starts_with(':')) {
    const auto whole = TakePart(text, ':', 60);  // 60: a leap second.
    if (!whole) return std::nullopt;
    second = seconds(*whole);
    if (TakeOneOf(text, ".,")) {
      if (text.empty() || !IsDigit(text.front())) return std::nullopt;
      second += Micros(TakeFraction(text, 6));
    }
  }
  const auto zone = ReadZone(text);
  if (!zone) return std::nullopt;
  return WallTime(sys_days(date)) + hours(*hour) + minutes(*minute) + second - *zone;
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
  if (TakeOneOf(text, ".")) fraction = TakeFraction(text, std::max(places, 0));
  if (!text.empty()) return std::nullopt;
  if (places < 0) return Micros(whole / 1000);
  std::int64_t scale = 1;
  for (int i = 0; i < places; ++i) scale *= 10;
  if (whole > kMaxTime.time_since_epoch().count() / scale) return std::nullopt;
  return Micros(whole * scale + fraction);
}

}  // namespace

std::optional<WallTime> ParseTime(std::string_view text, TimeUnit unit) {
  std::optional<WallTime> time;
  if (text.size() > 4 && text[4] == '-') {
    time = ParseDate(text);
  } else if (const auto since = ParseNumber(text, unit)) {
    time = WallTime(*since);
  }
  return time && *time >= WallTime{} && *time <= kMaxTime ? time : std::nullopt;
}

std::optional<Micros> ParseSeconds(std::string_view text) {
  return ParseNumber(text, TimeUnit::kSeconds);
}

std::string DateOf(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<Micros> clock(time - day);
  std::array<char, 64> text;
  std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  std::string shown = text.data();
  shown.erase(shown.find_last_not_of('0') + 1);
  if (shown.ends_with('.')) shown.pop_back();
  return shown + 'Z';
}

}  // namespace sluice::app
