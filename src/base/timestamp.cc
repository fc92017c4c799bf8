#include "base/timestamp.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "base/ascii.h"

namespace sluice {
namespace {

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

// Takes the digits of a fraction of a second off the front, in microseconds, rounded down.
Micros TakeFraction(std::string_view& text) {
  int places = 6;
  std::int64_t value = 0;
  for (; !text.empty() && IsDigit(text.front()); text.remove_prefix(1)) {
    if (places-- > 0) value = 10 * value + (text.front() - '0');
  }
  for (; places > 0; --places) value *= 10;
  return Micros(value);
}

// How much the zone at the end is ahead of UTC. The text must end there.
std::optional<std::chrono::minutes> ReadZone(std::string_view text, bool lenient) {
  if (text == "Z" || text == "z") return std::chrono::minutes(0);
  if (text.empty()) {
    return lenient ? std::optional(std::chrono::minutes(0)) : std::nullopt;
  }
  const int sign = text.front() == '-' ? -1 : 1;
  if (!TakeOneOf(text, "+-")) return std::nullopt;
  const auto ahead = TakeDigits(text, 2);
  if (!ahead || *ahead > 23) return std::nullopt;
  int rest = 0;
  if (!text.empty() || !lenient) {
    if (!TakeOneOf(text, ":") && !lenient) return std::nullopt;
    const auto found = TakeDigits(text, 2);
    if (!found || *found > 59 || !text.empty()) return std::nullopt;
    rest = *found;
  }
  return std::chrono::minutes(sign * (60 * *ahead + rest));
}

std::optional<WallTime> ReadTimestamp(std::string_view text, bool lenient) {
  using namespace std::chrono;  // NOLINT(google-build-using-namespace): of the calendar.
  const auto year_number = TakeDigits(text, 4);
  const auto month_number = TakePart(text, '-', 12);
  const auto day_number = TakePart(text, '-', 31);
  if (!year_number || !month_number || !day_number) return std::nullopt;
  const year_month_day date(year(*year_number), month(static_cast<unsigned>(*month_number)),
                            day(static_cast<unsigned>(*day_number)));
  if (!date.ok() || !TakeOneOf(text, lenient ? "Tt " : "Tt")) return std::nullopt;
  const auto hour = TakeDigits(text, 2);
  const auto minute = TakePart(text, ':', 59);
  if (!hour || *hour > 23 || !minute) return std::nullopt;
  Micros second{0};
  if (text.starts_with(':')) {
    const auto whole = TakePart(text, ':', 60);  // 60: a leap second.
    if (!whole) return std::nullopt;
    second = seconds(*whole);
    if (TakeOneOf(text, lenient ? ".," : ".")) {
      if (text.empty() || !IsDigit(text.front())) return std::nullopt;
      second += TakeFraction(text);
    }
  } else if (!lenient) {
    return std::nullopt;
  }
  const auto zone = ReadZone(text, lenient);
  if (!zone) return std::nullopt;
  return WallTime(sys_days(date)) + hours(*hour) + minutes(*minute) + second - *zone;
}

}  // namespace

std::optional<WallTime> ParseTimestamp(std::string_view text, TimestampForm form) {
  const auto time = ReadTimestamp(text, form == TimestampForm::kLenient);
  return time && *time >= WallTime{} && *time <= kMaxTime ? time : std::nullopt;
}

std::string FormatTimestamp(WallTime time) {
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

}  // namespace sluice
