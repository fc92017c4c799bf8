#include "base/decimal.h"

#include <cstdlib>
#include <limits>

#include "base/ascii.h"

namespace sluice {
namespace {

constexpr int kMaxScale = 18;

// Takes the digits of a number from the front of `text`, '_' between them allowed.
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
bool Normalize(Decimal& decimal) {
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

}  // namespace

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
  if (!TakeExponent(text, decimal) || !Normalize(decimal)) return std::nullopt;
  if (negative) decimal.digits = -decimal.digits;
  return decimal;
}

std::optional<Decimal> ParseDecimal(std::string_view text) {
  text = TrimBlanks(text);
  const auto decimal = TakeDecimal(text);
  return text.empty() ? decimal : std::nullopt;
}

std::optional<std::int64_t> ToWhole(const Decimal& decimal) {
  if (decimal.scale != 0) return std::nullopt;
  return decimal.digits;
}

std::optional<std::int64_t> ParseWhole(std::string_view text) {
  const auto decimal = ParseDecimal(text);
  return decimal ? ToWhole(*decimal) : std::nullopt;
}

std::int64_t PowerOfTen(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace sluice
