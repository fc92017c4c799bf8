#pragma once

#include <atomic>
#include <chrono>

#include <sluice/time.h>

#include "telemetry/histogram.h"

namespace sluice::server {

/// Whether the store has lately been slower than it should be: more than one call in a hundred over
/// 5 ms. Told every kStretch, by one thread, what was measured so far; any may read.
class StoreSpeed {
 public:
  static constexpr Micros kStretch = std::chrono::seconds(5);
  static constexpr std::chrono::nanoseconds kSlow = std::chrono::milliseconds(5);

  void Look(const telemetry::HistogramTotals& totals);
  // Relaxed: nothing else is read through it.
  [[nodiscard]] bool is_slow() const { return is_slow_.load(std::memory_order_relaxed); }

 private:
  telemetry::HistogramTotals before_{};
  std::atomic<bool> is_slow_{false};
};

}  // namespace sluice::server
