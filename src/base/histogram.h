#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counter.h"

namespace sluice {

/// Inclusive upper bounds of the buckets: 1, 2, 5, 10 … from a microsecond to 100 ms. The bucket
/// above the last one is unbounded.
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

/// The values of a histogram with custom buckets. `counts` has one more element than `ends`, for
/// durations above the last bound.
struct BucketCounts {
  std::span<const std::chrono::microseconds> ends{};
  std::span<const std::uint64_t> counts{};
  std::chrono::nanoseconds sum{};
};

/// Counts of durations by bucket. One thread records, any thread may read. A copy has the values at
/// the time of copying; its sum may differ from the buckets by one recording.
class Histogram {
 public:
  void Record(std::chrono::nanoseconds took);
  void operator+=(const Histogram& other);

  /// Returns the count of one bucket.
  [[nodiscard]] std::uint64_t bucket(std::size_t index) const { return buckets_[index]; }
  /// Returns the sum of all buckets.
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::chrono::nanoseconds sum() const {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(sum_.value()));
  }

 private:
  std::array<Counter, kBuckets> buckets_{};
  Counter sum_;  ///< Nanoseconds; enough for 584 years.
};

}  // namespace sluice
