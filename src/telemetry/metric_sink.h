#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/histogram.h"
#include "base/metrics.h"

namespace sluice::telemetry {

/// Receives metrics, family by family: its type and help, then its samples. Each way out of the
/// server (the Prometheus page, OTLP, StatsD) is one.
///
///     sink.Family("sluice_calls_total", MetricType::kCounter, "Calls.");
///     sink.Sample({{"protocol", "http"}}, 42);
///     sink.End();
class MetricSink {
 public:
  using Labels = std::span<const Label>;

  virtual ~MetricSink() = default;

  /// `name` as samples have it: of a counter with _total, of an info with _info. It is kept, not
  /// copied, until the next family.
  virtual void Family(std::string_view name, MetricType type, std::string_view help) = 0;

  virtual void Sample(Labels labels, std::uint64_t value) = 0;
  virtual void Sample(Labels labels, std::int64_t value) = 0;
  virtual void Sample(Labels labels, double value) = 0;
  /// In seconds, with all nanoseconds.
  virtual void Sample(Labels labels, std::chrono::nanoseconds value) = 0;
  /// In seconds since 1970.
  virtual void Sample(Labels labels, std::chrono::sys_seconds value) = 0;
  virtual void Sample(Labels labels, const Histogram& value) = 0;
  virtual void Sample(Labels labels, const BucketCounts& value) = 0;
  void Sample(std::initializer_list<Label> labels, const auto& value) {
    Sample(Labels(labels.begin(), labels.size()), value);
  }

  /// After the last family.
  virtual void End() = 0;
};

}  // namespace sluice::telemetry
