#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/time.h>

/// Numbers as people write them in rule files. All of it exact: nothing goes through a double.
namespace sluice::rules {

/// digits / 10^scale: 1.67 is 167 / 10^2.
struct Decimal {
  std::int64_t digits = 0;
  int scale = 0;

  friend bool operator==(const Decimal&, const Decimal&) = default;
};

/// "100", "-3", "1.67", "1_000", "2.5e6".
[[nodiscard]] std::optional<Decimal> ParseDecimal(std::string_view text);

/// A decimal without a fraction.
[[nodiscard]] std::optional<std::int64_t> ParseWhole(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> ToWhole(const Decimal& decimal);

/// "60s", "5m", "1h30m", "500 ms", "2 hours", "minute"; a plain number counts `plain` units.
[[nodiscard]] std::optional<Micros> ParseDuration(std::string_view text, Micros plain);

/// "100 per minute", "30/s", "1.5 / 10s"; also "100": then without a period.
struct RateText {
  Decimal amount;
  std::optional<Micros> period;
};
[[nodiscard]] std::optional<RateText> ParseRate(std::string_view text);

/// Whether it is a rate per month or year, which have no fixed length.
[[nodiscard]] bool IsPerCalendarTime(std::string_view text);

/// So much in so much time, in lowest terms; nothing if that is more than a Rate holds.
[[nodiscard]] std::optional<Rate> ToRate(const Decimal& amount, Micros period);

/// "1s", "60s", "500ms": for the names of limits.
[[nodiscard]] std::string DurationName(Micros duration);

}  // namespace sluice::rules
