#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <sluice/result.h>

#include "net/loops.h"
#include "otlp/exporter.h"
#include "server/shared.h"
#include "telemetry/decision_record.h"
#include "telemetry/metric_sink.h"

namespace sluice::server {

class Worker;

/// Takes spans, metrics and denials to the exporter (otlp/exporter.h), by the settings. Event loops
/// never wait for it.
class TelemetryExport {
 public:
  using WriteMetrics = std::function<void(telemetry::MetricSink&)>;

  /// Null if nothing is exported. Fails with kInvalidOptions. All must outlive it.
  static Result<std::unique_ptr<TelemetryExport>> Create(
      Shared& shared, net::Loops& loops, const std::vector<std::unique_ptr<Worker>>& workers);

  /// When the loops run. `write_metrics` runs on the exporter's thread.
  void Start(WriteMetrics write_metrics);
  /// Sends what is left. Returns false if it takes longer.
  [[nodiscard]] bool TryStop(Micros timeout) { return exporter_->TryStop(timeout); }

  /// A denial, on the thread of Insight.
  void OfferDenial(const telemetry::DecisionRecord& record);
  /// From any thread.
  [[nodiscard]] otlp::ExportMetrics Metrics() const { return exporter_->Metrics(); }

 private:
  /// What loops gave away, until the exporter's thread takes it.
  struct Inbox {
    std::mutex mutex;
    std::vector<std::unique_ptr<telemetry::SpanBuffer>> buffers;
  };

  TelemetryExport(Shared& shared, net::Loops& loops,
                  const std::vector<std::unique_ptr<Worker>>& workers,
                  std::unique_ptr<otlp::Exporter> exporter);

  bool AskForSpans();
  void TakeSpans();

  Shared& shared_;
  net::Loops& loops_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::vector<std::unique_ptr<telemetry::SpanBuffer>> spares_;  ///< Of the exporter's thread.
  std::uint64_t until_denial_ = 1;                              ///< Of the thread of Insight.
  std::unique_ptr<otlp::Exporter> exporter_;                    ///< Last: its thread uses the rest.
};

}  // namespace sluice::server
