#pragma once

#include <optional>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "base/decimal.h"

/// Rates in rule files. Exact: no conversion to double.
namespace sluice::config_text {

/// "100 per minute", "30/s", "1.5 / 10s"; or "100", without a period.
struct RateText {
  Decimal amount;
  std::optional<Micros> period;
};
[[nodiscard]] std::optional<RateText> ParseRate(std::string_view text);

/// Returns whether it is a rate per month or year, which have no fixed length.
[[nodiscard]] bool IsPerCalendarTime(std::string_view text);

/// Returns the rate in lowest terms; nothing if it is out of range.
[[nodiscard]] std::optional<Rate> ToRate(const Decimal& amount, Micros period);

}  // namespace sluice::config_text
