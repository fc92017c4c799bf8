#pragma once

#include <array>
#include <string_view>

#include "telemetry/decision_ring.h"
#include "telemetry/loop_insight.h"
#include "telemetry/time_series.h"
#include "telemetry/top_windows.h"

namespace sluice::telemetry {

/// What a node knows about its recent calls, collected from its event loops. For one thread at a
/// time.
struct InsightState {
  std::array<TopWindows, kTopDimensions> top;  ///< By TopDimension.
  DecisionRing denials;
  TimeSeries series;

  [[nodiscard]] const TopWindows& TopBy(TopDimension dimension) const {
    return top[static_cast<std::size_t>(dimension)];
  }
};

}  // namespace sluice::telemetry
