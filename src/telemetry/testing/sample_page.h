#pragma once

#include <string>

#include "telemetry/constant_labels.h"
#include "telemetry/prometheus_text.h"

namespace sluice::telemetry::testing {

/// A page with every kind of number and label, and with a rule whose name is hard to write.
[[nodiscard]] std::string SamplePage(MetricsFormat format = MetricsFormat::kPrometheus,
                                     const ConstantLabels& constant = {});

}  // namespace sluice::telemetry::testing
