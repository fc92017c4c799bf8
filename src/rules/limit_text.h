#pragma once

#include <string>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "rules/model.h"

namespace sluice::rules {

/// Returns a limit's numbers in words: "100 at once, then 1.67 per second".
[[nodiscard]] std::string LimitText(const LimitNumbers& numbers);
/// The same in the limit's own unit; money as USD. `numbers`: its own, or those of a live entry.
[[nodiscard]] std::string LimitText(const NamedLimit& limit, const LimitNumbers& numbers);

/// Returns an amount of money: "50 USD", "0.0125 USD".
[[nodiscard]] std::string DollarText(std::int64_t nanos);

/// "45s", "5m", "1h", "1.5s", "250ms".
[[nodiscard]] std::string SpanText(Micros span);

}  // namespace sluice::rules
