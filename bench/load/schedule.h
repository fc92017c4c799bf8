#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace sluice::bench {

/// Arrivals at a fixed rate. When each is due depends on its number alone, never on what became of
/// those before: an arrival that is sent late has waited since its moment.
class Schedule {
 public:
  Schedule(std::chrono::nanoseconds begin, double per_second)
      : begin_(begin), interval_(1e9 / per_second) {}

  /// When the next one is due.
  [[nodiscard]] std::chrono::nanoseconds next() const {
    return begin_ + std::chrono::nanoseconds(std::llround(static_cast<double>(gone_) * interval_));
  }
  void Pop() { ++gone_; }
  [[nodiscard]] std::uint64_t gone() const { return gone_; }

 private:
  std::chrono::nanoseconds begin_;
  double interval_;  // Nanoseconds.
  std::uint64_t gone_ = 0;
};

}  // namespace sluice::bench
