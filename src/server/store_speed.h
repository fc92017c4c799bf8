#pragma once

#include <atomic>
#include <chrono>

#include <sluice/time.h>

#include "base/histogram.h"

namespace sluice::server {

/// Whether the store has lately been slower than it should be: more than one call in a hundred over
/// 5 ms. One thread updates it every kStretch with the measurements so far; any may read.
class StoreSpeed {
 public:
  static constexpr Micros kStretch = std::chrono::seconds(5);
  static constexpr std::chrono::nanoseconds kSlow = std::chrono::milliseconds(5);

  void Update(const Histogram& times);
  // Relaxed: nothing else is read through it.
  [[nodiscard]] bool is_slow() const { return is_slow_.load(std::memory_order_relaxed); }

 private:
  Histogram before_;
  std::atomic<bool> is_slow_{false};
};

}  // namespace sluice::server
