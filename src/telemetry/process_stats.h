#pragma once

#include <optional>

#include "telemetry/metrics_snapshot.h"

namespace sluice::telemetry {

/// Reads /proc: some ten system calls and one for each open file. Nothing where there is no /proc.
[[nodiscard]] std::optional<ProcessSnapshot> ReadProcess();

}  // namespace sluice::telemetry
