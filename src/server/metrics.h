#pragma once

#include <span>
#include <string>

#include "server/connection_counters.h"
#include "server/shared.h"
#include "server/tls_files.h"
#include "server/worker.h"

namespace sluice::server {

/// What one protocol's entrance counted.
struct EntranceFigures {
  telemetry::Protocol protocol{};
  ConnectionTotals connections{};
  const TlsFiles* tls = nullptr;  ///< Null: it has no listeners with TLS.
};

/// Appends the page of metrics: what all parts of the server counted, read a moment ago. From any
/// thread.
void AppendServerMetrics(const Shared& shared, std::span<const Worker* const> workers,
                         std::span<const EntranceFigures> entrances, api::MetricsFormat format,
                         std::string& out);

}  // namespace sluice::server
