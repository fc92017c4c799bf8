#pragma once

#include <string>

#include <sluice/limit.h>
#include <sluice/time.h>

namespace sluice::rules {

/// Returns a limit's numbers in words: "100 at once, then 1.67 per second".
[[nodiscard]] std::string LimitText(const LimitNumbers& numbers);

/// "45s", "5m", "1h", "1.5s", "250ms".
[[nodiscard]] std::string SpanText(Micros span);

}  // namespace sluice::rules
