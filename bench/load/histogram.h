#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::bench {

/// Counts times in buckets less than one percent wide, from a nanosecond to an hour.
class Histogram {
 public:
  Histogram();

  void Record(std::chrono::nanoseconds time);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The time that this part of all times does not pass: Quantile(0.99). Never less than it was,
  /// and less than one percent more. Zero if there are none.
  [[nodiscard]] std::chrono::nanoseconds Quantile(double part) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t longest_ = 0;
};

}  // namespace sluice::bench
