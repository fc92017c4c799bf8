#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "otlp/message_writer.h"
#include "telemetry/metric_sink.h"
#include "telemetry/span_buffer.h"

/// The requests of OTLP 1.x: spans, log records and metrics as the body of a POST.
namespace sluice::otlp {

/// What sends them.
struct Resource {
  std::string version{};                                          ///< Of this server.
  std::vector<std::pair<std::string, std::string>> attributes{};  ///< `service.name` and others.
};

/// One denied call. No keys, no addresses.
struct DenialRecord {
  WallTime time{};
  std::string_view protocol{};  ///< Both of static storage.
  std::string_view outcome{};
  telemetry::SpanText rule{}, limit{};
  bool degraded = false;
  std::int64_t cost = 0, remaining = 0, cap = 0;
  Micros wait{0};  ///< Until the same call passes; negative: never.
};

[[nodiscard]] std::string WriteSpans(Encoding encoding, const Resource& resource,
                                     std::span<const telemetry::SpanRecord> records);
[[nodiscard]] std::string WriteDenials(Encoding encoding, const Resource& resource,
                                       std::span<const DenialRecord> records);

/// Makes requests of metrics: cumulative sums since `start`, gauges and histograms, with the names
/// and labels that Prometheus sees. A request has at most kMaxPoints data points.
class MetricRequests final : public telemetry::MetricSink {
 public:
  static constexpr std::size_t kMaxPoints = 2000;

  /// `resource` must outlive it. `labels` are added to every data point.
  MetricRequests(Encoding encoding, const Resource& resource,
                 std::span<const std::pair<std::string, std::string>> labels, WallTime start,
                 WallTime now);

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

  /// After End. Each with the number of its data points.
  [[nodiscard]] std::vector<std::pair<std::string, std::size_t>>& requests() { return requests_; }

 private:
  void OpenRequest();
  void CloseRequest();
  void OpenMetric();
  void CloseMetric();
  void BeginPoint(Labels labels, Field attributes);
  void HistogramPoint(Labels labels, std::span<const std::uint64_t> counts,
                      std::span<const double> ends, std::chrono::nanoseconds sum);

  const Encoding encoding_;
  const Resource& resource_;
  const std::span<const std::pair<std::string, std::string>> labels_;
  const std::uint64_t start_;
  const std::uint64_t now_;
  std::string_view name_;
  std::string_view help_;
  MetricType type_ = MetricType::kGauge;
  bool is_metric_open_ = false;
  std::size_t points_ = 0;
  std::string body_;
  std::unique_ptr<MessageWriter> writer_;  ///< Null: no request is open.
  std::vector<std::pair<std::string, std::size_t>> requests_;
};

}  // namespace sluice::otlp
