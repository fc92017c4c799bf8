#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sluice/time.h>

#include "base/histogram.h"

namespace sluice::telemetry {

/// Totals since the start of the process.
struct CallTotals {
  std::uint64_t checks = 0;
  std::uint64_t denials = 0;
  std::uint64_t degraded = 0;
  std::uint64_t lease_hits = 0;     ///< Decided from memory.
  std::uint64_t lease_fetches = 0;  ///< Requests for leases.
  std::array<std::uint64_t, kBuckets> latency{};
};

/// One step of a series. Rates are per second; a negative number is unknown, as a latency without
/// checks is.
struct SeriesPoint {
  float checks = 0;
  float denials = 0;
  float degraded = 0;
  float p50_seconds = -1;
  float p99_seconds = -1;
  float lease_hit_ratio = -1;
};

/// Time series of the last ten minutes, by one and by five seconds, and of the last six hours by
/// half a minute, in fixed memory (some 35 KiB). Steps begin at multiples of their length since
/// 1970, so that those of several nodes can be added. For one thread at a time.
class TimeSeries {
 public:
  struct Level {
    Micros step;
    std::size_t points;
  };
  static constexpr std::array<Level, 3> kLevels = {
      Level{.step = std::chrono::seconds(1), .points = 600},
      Level{.step = std::chrono::seconds(5), .points = 120},
      Level{.step = std::chrono::seconds(30), .points = 720}};
  static constexpr std::size_t kBySecond = 0;
  static constexpr std::size_t kByFiveSeconds = 1;
  static constexpr std::size_t kByHalfMinute = 2;

  TimeSeries();

  /// Adds what was counted until `now`. To be called about once a second; steps that were missed
  /// share what was counted meanwhile.
  void Add(const CallTotals& totals, WallTime now);

  /// The last points of a level, oldest first.
  [[nodiscard]] std::vector<SeriesPoint> Points(std::size_t level) const;
  /// When the last of them ended.
  [[nodiscard]] WallTime EndOf(std::size_t level) const;

 private:
  struct Ring {
    std::vector<SeriesPoint> points;
    std::size_t next = 0;
    std::size_t filled = 0;
    std::int64_t step_number = -1;  ///< Of the step under way; -1: none yet.
    CallTotals at_begin;            ///< Of it.
  };

  std::array<Ring, kLevels.size()> rings_;
};

/// The duration below which this share of a histogram's values is, interpolated in its bucket;
/// negative without values.
[[nodiscard]] double QuantileSeconds(const std::array<std::uint64_t, kBuckets>& buckets,
                                     double share);

}  // namespace sluice::telemetry
