#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/live.h"
#include "net/tls_context.h"
#include "otlp/exporter.h"
#include "server/control_plane.h"
#include "server/insight.h"
#include "server/penalties.h"
#include "server/shared.h"
#include "server/worker.h"
#include "statsd/statsd_sender.h"
#include "telemetry/metric_sink.h"
#include "transport/connection_counters.h"

namespace sluice::server {

/// Counters and certificate of one protocol's listeners.
struct ListenerGroupFigures {
  std::string_view protocol{};     ///< "http", "resp", "grpc" or "admin".
  std::string_view tls_section{};  ///< "http_tls": of its settings.
  transport::ConnectionCounters connections{};
  /// Null, or without a version: it has no listeners with TLS.
  const Live<net::TlsContext>* certificate = nullptr;
};

/// What the ways out of the server counted themselves; nothing for those that are off.
struct ExportFigures {
  std::optional<otlp::ExportMetrics> otlp{};
  std::optional<statsd::SenderMetrics> statsd{};
};

/// Writes all metrics: what all parts of the server counted, read a moment ago. From any thread.
void WriteServerMetrics(const Shared& shared, std::span<const Worker* const> workers,
                        std::span<const ListenerGroupFigures> listener_groups,
                        const ControlPlane& control, const InsightMetrics& insight,
                        const PenaltyMetrics& penalties, const ExportFigures& exported,
                        telemetry::MetricSink& sink);

}  // namespace sluice::server
