#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include <sluice/time.h>

#include "telemetry/top_sum.h"

namespace sluice::telemetry {

enum class TopWindow : std::uint8_t { kMinute, kTenMinutes, kHour };
constexpr std::array<std::string_view, 3> LabelsOf(TopWindow /*any*/) {
  return {"1m", "10m", "1h"};
}
inline constexpr std::size_t kTopWindows = 3;

/// The largest consumers of the last minute, ten minutes and hour, in slices of 10 s, 1 min and
/// 10 min: a window begins with a slice, so that it covers between 5/6 of its length and all of it.
/// Holds at most kSliceRows rows in each of 21 slices. For one thread at a time.
class TopWindows {
 public:
  static constexpr std::size_t kSliceRows = SpaceSaving::kCounters;

  /// Adds what was counted until `now`. A `now` that goes back counts for the current slices.
  void Add(const TopSlice& slice, WallTime now);
  /// Drops what is too old by now.
  void Advance(WallTime now);
  /// The sum of a window; at most `max_rows` rows.
  [[nodiscard]] TopSlice Take(TopWindow window, std::size_t max_rows) const;
  /// Where a window begins, as of the last Advance or Add.
  [[nodiscard]] WallTime BeginOf(TopWindow window) const;

 private:
  struct Level {
    Micros length;
    std::size_t slices;       ///< Finished ones that a window has beside the current.
    std::int64_t number = 0;  ///< Of the current slice, since 1970.
    TopSum current{};         ///< Finished slices of the level below; for the first, all calls.
    struct Finished {
      std::int64_t number;
      TopSlice slice;
    };
    std::deque<Finished> finished{};
  };

  std::array<Level, kTopWindows> levels_ = {Level{.length = std::chrono::seconds(10), .slices = 5},
                                            Level{.length = std::chrono::minutes(1), .slices = 9},
                                            Level{.length = std::chrono::minutes(10), .slices = 5}};
};

}  // namespace sluice::telemetry
