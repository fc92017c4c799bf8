#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Parses a whole text as a decimal number: no blanks, no plus sign. Returns nothing if it is not a
/// number, or out of range.
template <typename Number>
  requires std::integral<Number> || std::floating_point<Number>
[[nodiscard]] inline std::optional<Number> ParseNumber(std::string_view text) {
  if constexpr (std::integral<Number>) {
    // Fast path: numbers with so few digits can't overflow.
    constexpr std::size_t kSafeDigits = std::numeric_limits<Number>::digits10;
    if (!text.empty() && text.size() <= kSafeDigits && text[0] != '-') {
      Number number = 0;
      for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        number = static_cast<Number>(number * 10 + (c - '0'));
      }
      return number;
    }
  }
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

/// Appends a number in decimal.
template <typename Number>
  requires std::integral<Number> || std::floating_point<Number>
inline void AppendNumber(Number number, std::string& out) {
  std::array<char, 32> digits;
  out.append(digits.data(),
             std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

}  // namespace sluice
