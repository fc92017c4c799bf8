#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "telemetry/constant_labels.h"
#include "telemetry/metric_sink.h"

namespace sluice::telemetry {

enum class MetricsFormat : std::uint8_t {
  kPrometheus,   ///< The text format 0.0.4.
  kOpenMetrics,  ///< 1.0.0; for clients that ask for application/openmetrics-text.
};

/// Returns the value of Content-Type.
[[nodiscard]] std::string_view ContentTypeOf(MetricsFormat format);

/// Appends metrics to a string, as Prometheus reads them. A family, its type and help, then its
/// samples. Integers are written exactly. Names and types are the caller's business; values of
/// labels may be anything.
///
///     PrometheusText text(out, MetricsFormat::kPrometheus, constant_labels);
///     text.Family("sluice_calls_total", MetricType::kCounter, "Calls.");
///     text.Sample({{"protocol", "http"}}, 42);
///     text.End();
class PrometheusText final : public MetricSink {
 public:
  PrometheusText(std::string& out, MetricsFormat format, const ConstantLabels& constant)
      : out_(out), format_(format), constant_(constant.text()) {}

  void Family(std::string_view name, MetricType type, std::string_view help) override;
  using MetricSink::Sample;
  void Sample(Labels labels, std::uint64_t value) override;
  void Sample(Labels labels, std::int64_t value) override;
  void Sample(Labels labels, double value) override;
  void Sample(Labels labels, std::chrono::nanoseconds value) override;
  void Sample(Labels labels, std::chrono::sys_seconds value) override;
  void Sample(Labels labels, const Histogram& value) override;
  void Sample(Labels labels, const BucketCounts& value) override;
  void End() override;

 private:
  void Bucket(Labels labels, std::string_view end, std::uint64_t count);
  void EndHistogram(Labels labels, std::chrono::nanoseconds sum, std::uint64_t count);
  void Series(std::string_view suffix, Labels labels, const Label* last = nullptr);

  std::string& out_;
  const MetricsFormat format_;
  const std::string_view constant_;
  std::string_view name_;
};

}  // namespace sluice::telemetry
