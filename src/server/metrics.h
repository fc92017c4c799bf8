#pragma once

#include <span>
#include <string>

#include "server/connection_counters.h"
#include "server/shared.h"
#include "server/worker.h"

namespace sluice::server {

/// Appends the page of metrics: what all parts of the server counted, read a moment ago. From any
/// thread.
void AppendServerMetrics(const Shared& shared, std::span<const Worker* const> workers,
                         const ConnectionTotals& http, const ConnectionTotals& resp,
                         std::string& out);

}  // namespace sluice::server
