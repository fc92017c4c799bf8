#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// digits / 10^scale: 1.67 is 167 / 10^2. Exact: no conversion to double.
struct Decimal {
  std::int64_t digits = 0;
  int scale = 0;

  friend bool operator==(const Decimal&, const Decimal&) = default;
};

/// Parses "100", "-3", "1.67", "1_000", "2.5e6".
[[nodiscard]] std::optional<Decimal> ParseDecimal(std::string_view text);

/// Parses a decimal at the front of `text` and removes it.
[[nodiscard]] std::optional<Decimal> TakeDecimal(std::string_view& text);

/// Returns the integer value, or nothing if there is a fraction.
[[nodiscard]] std::optional<std::int64_t> ToWhole(const Decimal& decimal);

/// Parses a decimal without a fraction.
[[nodiscard]] std::optional<std::int64_t> ParseWhole(std::string_view text);

/// Returns 10^exponent, for exponents from 0 to 18.
[[nodiscard]] std::int64_t PowerOfTen(int exponent);

}  // namespace sluice
