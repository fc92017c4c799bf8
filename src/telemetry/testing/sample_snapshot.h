#pragma once

#include "telemetry/metrics_snapshot.h"

namespace sluice::telemetry::testing {

/// A snapshot in which everything that can be told is told, counted by real counters.
[[nodiscard]] MetricsSnapshot SampleSnapshot();

}  // namespace sluice::telemetry::testing
