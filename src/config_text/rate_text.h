#pragma once

#include <optional>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "base/decimal.h"

/// Rates as people write them in rule files. All of it exact: nothing goes through a double.
namespace sluice::config_text {

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

}  // namespace sluice::config_text
