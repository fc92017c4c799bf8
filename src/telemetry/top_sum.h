#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <sluice/time.h>

#include "telemetry/space_saving.h"

namespace sluice::telemetry {

/// One consumer: a pair of rule and key.
struct TopRow {
  std::uint64_t hash = 0;
  std::string rule{};
  std::string key{};
  bool is_secret = false;  ///< The key contains an API key.
  std::uint64_t count = 0;
  std::uint64_t over = 0;     ///< `count` is too large by at most so much,
  std::uint64_t under = 0;    ///< or too small by at most so much.
  double variance = 0;        ///< Of `count`, because calls were sampled.
  std::uint64_t largest = 0;  ///< Amount that one sampled call added or could have.
  bool is_sampled = false;    ///< Some calls were left out at random.
  double utilization = 0;     ///< Of the limit, at `last`.
  WallTime last{};            ///< When it was last counted, to a second.

  /// |true amount − count| is at most this: for certain, or with sampled calls in all but one of
  /// ten thousand cases.
  [[nodiscard]] std::uint64_t Error() const;
};

/// The largest consumers of a stretch of time.
struct TopSlice {
  std::vector<TopRow> rows{};    ///< The largest counts first.
  std::uint64_t max_absent = 0;  ///< The most that a consumer may have that has no row.
};

/// Reads a sketch of calls until `now`. `max_weight`: the most calls for which a sampled one stood.
[[nodiscard]] TopSlice SliceOf(const SpaceSaving& sketch, std::uint32_t max_weight, WallTime now);

/// Adds up slices, of different times, event loops or nodes, and keeps the bounds: a consumer that
/// has no row in a slice may have had up to the slice's `max_absent` there.
class TopSum {
 public:
  void Add(const TopSlice& slice);
  /// The largest, at most `max_rows`: `max_absent` includes what is cut.
  [[nodiscard]] TopSlice Take(std::size_t max_rows) const;
  [[nodiscard]] bool empty() const { return rows_.empty() && max_absent_ == 0; }
  void Clear();

 private:
  /// More rows than this are cut to half of it.
  static constexpr std::size_t kMaxRows = 8 * SpaceSaving::kCounters;

  struct Sum {
    TopRow row;
    /// Of `max_absent_`, the slices that have a row for it: nothing is missing from those.
    std::uint64_t present = 0;
  };

  [[nodiscard]] TopRow RowOf(const Sum& sum) const;

  std::unordered_map<std::uint64_t, Sum> rows_;
  std::uint64_t max_absent_ = 0;
};

}  // namespace sluice::telemetry
