#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/counter.h"

namespace sluice::telemetry {

/// The upper ends of the buckets, each included: 1, 2, 5, 10 … from a microsecond to 100 ms. Above
/// the last one there is a bucket without an end.
inline constexpr auto kBucketEnds = [] {
  std::array<std::chrono::nanoseconds, 16> ends{};
  std::int64_t decade = 1000;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    constexpr std::array<std::int64_t, 3> kSteps{1, 2, 5};
    ends[i] = std::chrono::nanoseconds(decade * kSteps[i % 3]);
    if (i % 3 == 2) decade *= 10;
  }
  return ends;
}();
inline constexpr std::size_t kBuckets = kBucketEnds.size() + 1;

/// What a histogram held when it was read, or what several held together.
struct HistogramTotals {
  std::array<std::uint64_t, kBuckets> buckets{};  ///< Each for itself, not summed up.
  std::chrono::nanoseconds sum{0};

  /// How many were recorded. Counted from the buckets, so the two always agree.
  [[nodiscard]] std::uint64_t count() const;
};

/// How long things took. One thread records, any may read. A reader may find the sum a recording
/// ahead of the buckets or behind them.
class Histogram {
 public:
  void Record(std::chrono::nanoseconds took);
  void AddTo(HistogramTotals& totals) const;

 private:
  std::array<Counter, kBuckets> buckets_;
  Counter sum_;  ///< Nanoseconds; enough for 584 years.
};

}  // namespace sluice::telemetry
