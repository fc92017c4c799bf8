#pragma once

#include <cstddef>
#include <cstdint>

#include <sluice/time.h>

namespace sluice::transport {

/// Limits of one connection. A time of zero means no limit.
struct ConnectionLimits {
  /// Unwritten output above which reading stops (soft) and the connection is closed (hard).
  std::size_t soft_output_bytes = std::size_t{1} << 20;
  std::size_t hard_output_bytes = std::size_t{16} << 20;
  /// Requests waiting for a store above which reading stops.
  std::size_t max_pending = 1024;
  /// Share of one connection in one turn of its loop: requests (0: no limit) and time. Several busy
  /// connections share `turn_time_of_all`.
  std::uint32_t turn_requests = 4096;
  Micros turn_time = std::chrono::milliseconds(2);
  Micros turn_time_of_all = std::chrono::milliseconds(10);
  /// No request and no pending response.
  Micros idle_timeout = std::chrono::minutes(5);
  /// From a request's first byte to its last.
  Micros request_timeout = std::chrono::seconds(10);
  /// Pending output of which the client accepts nothing.
  Micros write_timeout = std::chrono::seconds(30);
  /// Time for which input is discarded before a connection is closed. An immediate close might lose
  /// the last response.
  Micros linger = std::chrono::seconds(1);
  /// How often a session checks its timeouts.
  Micros check_interval = std::chrono::seconds(1);
  /// Connections of one loop beyond the limits for operators, with one request each.
  std::size_t reserved = 0;
};

}  // namespace sluice::transport
