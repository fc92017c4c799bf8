#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/histogram.h"
#include "base/metrics.h"
#include "telemetry/constant_labels.h"

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
class PrometheusText {
 public:
  PrometheusText(std::string& out, MetricsFormat format, const ConstantLabels& constant)
      : out_(out), format_(format), constant_(constant.text()) {}

  /// `name` as samples have it: of a counter with _total, of an info with _info. It is kept, not
  /// copied, until the next family.
  void Family(std::string_view name, MetricType type, std::string_view help);

  using Labels = std::span<const Label>;
  void Sample(Labels labels, std::uint64_t value);
  void Sample(Labels labels, std::int64_t value);
  void Sample(Labels labels, double value);
  /// In seconds, with all nanoseconds.
  void Sample(Labels labels, std::chrono::nanoseconds value);
  /// In seconds since 1970.
  void Sample(Labels labels, std::chrono::sys_seconds value);
  void Sample(Labels labels, const Histogram& value);
  void Sample(Labels labels, const BucketCounts& value);
  void Sample(std::initializer_list<Label> labels, const auto& value) {
    Sample(Labels(labels.begin(), labels.size()), value);
  }

  /// After the last family.
  void End();

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
