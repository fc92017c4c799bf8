#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "telemetry/insight_state.h"

/// Consumers of one node, and of all nodes: each publishes its largest as a node report.
namespace sluice::api {

enum class TopBy : std::uint8_t { kDenied, kAllowed, kCost, kUtilization };
constexpr std::array<std::string_view, 4> LabelsOf(TopBy /*any*/) {
  return {"denied", "allowed", "cost", "utilization"};
}

/// Rows of each list that a node publishes.
inline constexpr std::size_t kPublishedRows = 256;

struct TopReport {
  WallTime from{};
  telemetry::TopSlice slice{};
};

/// The consumers of this node. By utilization: all calls, of which the rows count.
[[nodiscard]] TopReport ReportOf(const telemetry::InsightState& state, TopBy by,
                                 telemetry::TopWindow window);

/// The name of the node reports of a window.
[[nodiscard]] std::string ReportNameOf(telemetry::TopWindow window);
/// The text of this node's report of a window. API keys are in it as they are: it must not be kept
/// for longer than it is valid.
[[nodiscard]] std::string WriteTopReport(const telemetry::InsightState& state,
                                         telemetry::TopWindow window);
/// One list of a report. Nothing: the text is not one of this format.
[[nodiscard]] std::optional<TopReport> ReadTopReport(std::string_view text, TopBy by);
/// The sum over nodes; the bounds include what the nodes did not publish.
[[nodiscard]] TopReport Merge(std::span<const TopReport> reports);

}  // namespace sluice::api
