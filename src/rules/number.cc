#include "rules/number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>

#include "algo/rational.h"
#include "base/wide_math.h"

namespace sluice::rules {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kMaxScale = 18;

constexpr std::array<std::pair<std::string_view, Micros>, 27> kUnits = {{
    {"us", Micros{1}},
    {"µs", Micros{1}},
    {"ms", milliseconds(1)},
    {"s", seconds(1)},
    {"sec", seconds(1)},
    {"secs", seconds(1)},
    {"second", seconds(1)},
    {"seconds", seconds(1)},
    {"m", minutes(1)},
    {"min", minutes(1)},
    {"mins", minutes(1)},
    {"minute", minutes(1)},
    {"minutes", minutes(1)},
    {"h", hours(1)},
    {"hr", hours(1)},
    {"hrs", hours(1)},
    {"hour", hours(1)},
    {"hours", hours(1)},
    {"d", hours(24)},
    {"day", hours(24)},
    {"days", hours(24)},
    {"w", hours(24 * 7)},
    {"week", hours(24 * 7)},
    {"weeks", hours(24 * 7)},
    {"millisecond", milliseconds(1)},
    {"milliseconds", milliseconds(1)},
    {"microseconds", Micros{1}},
}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || c == '\t'; }
bool IsNumberStart(char c) { return IsDigit(c) || c == '.' || c == '-' || c == '+'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::optional<Micros> UnitOf(std::string_view text) {
  const std::string unit = Lower(text);
  const auto* const found =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& u) { return u.first == unit; });
  if (found == kUnits.end()) return std::nullopt;
  return found->second;
}

/// Takes the digits of a number from the front of `text`, '_' between them allowed.
bool TakeDigits(std::string_view& text, std::int64_t& value, int& count) {
  while (!text.empty()) {
    const bool separator = text[0] == '_' && count > 0 && text.size() > 1 && IsDigit(text[1]);
    if (!separator) {
      if (!IsDigit(text[0])) break;
      if (value > (std::numeric_limits<std::int64_t>::max() - 9) / 10) return false;
      value = value * 10 + (text[0] - '0');
      ++count;
    }
    text.remove_prefix(1);
  }
  return true;
}

// Takes "e6" or "E-3" from the front, and moves the point accordingly.
bool TakeExponent(std::string_view& text, Decimal& decimal) {
  if (text.empty() || (text[0] != 'e' && text[0] != 'E')) return true;
  text.remove_prefix(1);
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  std::int64_t exponent = 0;
  int count = 0;
  if (!TakeDigits(text, exponent, count) || count == 0 || exponent > kMaxScale) return false;
  decimal.scale += static_cast<int>(negative ? exponent : -exponent);
  return decimal.scale <= kMaxScale;
}

// Without trailing zeros behind the point, and never with a scale below 0.
bool Normalise(Decimal& decimal) {
  while (decimal.scale < 0) {
    if (std::abs(decimal.digits) > std::numeric_limits<std::int64_t>::max() / 10) return false;
    decimal.digits *= 10;
    ++decimal.scale;
  }
  while (decimal.scale > 0 && decimal.digits % 10 == 0) {
    decimal.digits /= 10;
    --decimal.scale;
  }
  return true;
}

/// Takes a number from the front.
std::optional<Decimal> TakeDecimal(std::string_view& text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  Decimal decimal;
  int whole = 0;
  if (!TakeDigits(text, decimal.digits, whole) || whole == 0) return std::nullopt;
  if (text.size() > 1 && text[0] == '.' && IsDigit(text[1])) {
    text.remove_prefix(1);
    if (!TakeDigits(text, decimal.digits, decimal.scale)) return std::nullopt;
    if (decimal.scale > kMaxScale) return std::nullopt;
  }
  if (!TakeExponent(text, decimal) || !Normalise(decimal)) return std::nullopt;
  if (negative) decimal.digits = -decimal.digits;
  return decimal;
}

std::int64_t PowerOfTen(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// amount · unit, if that is a whole number of microseconds. What no window can have is clamped.
std::optional<Micros> Times(const Decimal& amount, Micros unit) {
  const Wide product = Wide{amount.digits} * unit.count();
  const Wide divisor = PowerOfTen(amount.scale);
  if (product % divisor != 0) return std::nullopt;
  const Wide micros = product / divisor;
  const Wide most = kMaxWindow.count() * 2;
  return Micros{static_cast<std::int64_t>(std::clamp(micros, -most, most))};
}

std::string_view TakeWord(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && !IsSpace(text[length]) && !IsNumberStart(text[length])) ++length;
  const std::string_view word = text.substr(0, length);
  text = Trim(text.substr(length));
  return word;
}

}  // namespace

std::optional<Decimal> ParseDecimal(std::string_view text) {
  text = Trim(text);
  auto decimal = TakeDecimal(text);
  if (!text.empty()) return std::nullopt;
  return decimal;
}

std::optional<std::int64_t> ToWhole(const Decimal& decimal) {
  if (decimal.scale != 0) return std::nullopt;
  return decimal.digits;
}

std::optional<std::int64_t> ParseWhole(std::string_view text) {
  const auto decimal = ParseDecimal(text);
  if (!decimal) return std::nullopt;
  return ToWhole(*decimal);
}

std::optional<Micros> ParseDuration(std::string_view text, Micros plain) {
  text = Trim(text);
  if (const auto number = ParseDecimal(text)) return Times(*number, plain);
  if (const auto unit = UnitOf(text)) return unit;  // "minute"
  Micros sum{0};
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto amount = TakeDecimal(text);
    if (!amount || amount->digits < 0) return std::nullopt;
    text = Trim(text);
    const auto unit = UnitOf(TakeWord(text));
    if (!unit) return std::nullopt;
    const auto part = Times(*amount, *unit);
    if (!part) return std::nullopt;
    sum = std::min(sum + *part, kMaxWindow * 2);  // Too long is enough to know.
  }
  return sum;
}

std::optional<RateText> ParseRate(std::string_view text) {
  text = Trim(text);
  const auto amount = TakeDecimal(text);
  if (!amount) return std::nullopt;
  text = Trim(text);
  if (text.empty()) return RateText{*amount, std::nullopt};
  if (text[0] == '/') {
    text.remove_prefix(1);
  } else if (text.size() > 4 && Lower(text.substr(0, 3)) == "per" && IsSpace(text[3])) {
    text.remove_prefix(4);
  } else {
    return std::nullopt;
  }
  const auto period = ParseDuration(text, seconds(1));
  if (!period) return std::nullopt;
  return RateText{*amount, period};
}

bool IsPerCalendarTime(std::string_view text) {
  const std::string lower = Lower(Trim(text));
  for (const std::string_view end : {"month", "months", "year", "years", "mo", "y"}) {
    if (!lower.ends_with(end)) continue;
    const std::string_view before =
        Trim(std::string_view(lower).substr(0, lower.size() - end.size()));
    if (before.ends_with('/') || before.ends_with("per")) return true;
  }
  return false;
}

std::optional<Rate> ToRate(const Decimal& amount, Micros period) {
  if (amount.digits <= 0 || period.count() <= 0) return std::nullopt;
  const auto reduced =
      algo::Reduced({Wide{amount.digits}, Wide{period.count()} * PowerOfTen(amount.scale)});
  if (reduced.numerator > kMaxAmount || reduced.denominator > kMaxWindow.count()) {
    return std::nullopt;
  }
  return Rate{static_cast<std::int64_t>(reduced.numerator),
              Micros{static_cast<std::int64_t>(reduced.denominator)}};
}

std::string DurationName(Micros duration) {
  const std::int64_t count = duration.count();
  if (count % 1'000'000 == 0) return std::to_string(count / 1'000'000) + "s";
  if (count % 1'000 == 0) return std::to_string(count / 1'000) + "ms";
  return std::to_string(count) + "us";
}

}  // namespace sluice::rules
