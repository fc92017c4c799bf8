#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "telemetry/time_series.h"

/// Time series of one node, and of all nodes: each publishes its own as a node report.
namespace sluice::api {

/// Points of one level of telemetry::TimeSeries, oldest first.
struct SeriesSlice {
  WallTime end{};  ///< Of the last point.
  std::vector<telemetry::SeriesPoint> points{};
};

[[nodiscard]] SeriesSlice SliceOf(const telemetry::TimeSeries& series, std::size_t level);

/// The name of the node reports of a level.
[[nodiscard]] std::string SeriesReportName(std::size_t level);
/// The text of this node's report of a level.
[[nodiscard]] std::string WriteSeriesReport(const telemetry::TimeSeries& series, std::size_t level);
/// Nothing: the text is not one of this format.
[[nodiscard]] std::optional<SeriesSlice> ReadSeriesReport(std::string_view text, std::size_t level);

/// All nodes together: the sums of their rates, the latencies of the slowest, and the mean share of
/// lease hits, weighted by checks. Ends where the reports of all nodes end, at most two steps
/// before the newest: a node that is gone counts for the time in which it ran.
[[nodiscard]] SeriesSlice Merge(std::span<const SeriesSlice> nodes, std::size_t level);

}  // namespace sluice::api
