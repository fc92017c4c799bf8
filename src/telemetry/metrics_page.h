#pragma once

#include <string>

#include "telemetry/constant_labels.h"
#include "telemetry/metrics_snapshot.h"
#include "telemetry/prometheus_text.h"

namespace sluice::telemetry {

/// Appends the page that /metrics answers with. docs/metrics.md explains each metric.
///
/// No client can make a series: labels are names from labels.h, rule ids, and what was configured.
void AppendMetricsPage(const MetricsSnapshot& snapshot, MetricsFormat format,
                       const ConstantLabels& constant, std::string& out);

}  // namespace sluice::telemetry
