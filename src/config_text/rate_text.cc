#include "config_text/rate_text.h"

#include <chrono>
#include <string>

#include "base/ascii.h"
#include "base/duration.h"
#include "base/rational.h"

namespace sluice::config_text {

std::optional<RateText> ParseRate(std::string_view text) {
  text = TrimBlanks(text);
  const auto amount = TakeDecimal(text);
  if (!amount) return std::nullopt;
  text = TrimBlanks(text);
  if (text.empty()) return RateText{*amount, std::nullopt};
  if (text[0] == '/') {
    text.remove_prefix(1);
  } else if (text.size() > 4 && EqualIgnoringCase(text.substr(0, 3), "per") &&
             (text[3] == ' ' || text[3] == '\t')) {
    text.remove_prefix(4);
  } else {
    return std::nullopt;
  }
  const auto period = ParseDuration(text, std::chrono::seconds(1));
  if (!period) return std::nullopt;
  return RateText{*amount, period};
}

bool IsPerCalendarTime(std::string_view text) {
  const std::string lower = LowerCase(TrimBlanks(text));
  for (const std::string_view end : {"month", "months", "year", "years", "mo", "y"}) {
    if (!lower.ends_with(end)) continue;
    const std::string_view before =
        TrimBlanks(std::string_view(lower).substr(0, lower.size() - end.size()));
    if (before.ends_with('/') || before.ends_with("per")) return true;
  }
  return false;
}

std::optional<Rate> ToRate(const Decimal& amount, Micros period) {
  if (amount.digits <= 0 || period.count() <= 0) return std::nullopt;
  const auto reduced =
      Reduced({Wide{amount.digits}, Wide{period.count()} * PowerOfTen(amount.scale)});
  if (reduced.numerator > kMaxAmount || reduced.denominator > kMaxWindow.count()) {
    return std::nullopt;
  }
  return Rate{static_cast<std::int64_t>(reduced.numerator),
              Micros{static_cast<std::int64_t>(reduced.denominator)}};
}

}  // namespace sluice::config_text
