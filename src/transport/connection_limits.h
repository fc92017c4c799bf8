#pragma once

#include <cstddef>
#include <cstdint>

#include <sluice/time.h>

namespace sluice::transport {

/// Limits of one connection. A time of zero means no limit.
struct ConnectionLimits {
  /// Above this much unwritten output nothing more is read, above the other the connection ends.
  std::size_t soft_output_bytes = std::size_t{1} << 20;
  std::size_t hard_output_bytes = std::size_t{16} << 20;
  /// With this many requests waiting for a store nothing more is read.
  std::size_t max_pending = 1024;
  /// Limits of one connection in one turn of its loop: requests (0: no limit), and a time. Where
  /// several connections have more to do than that, they share `turn_time_of_all`.
  std::uint32_t turn_requests = 4096;
  Micros turn_time = std::chrono::milliseconds(2);
  Micros turn_time_of_all = std::chrono::milliseconds(10);
  /// Nothing asked, nothing to answer.
  Micros idle_timeout = std::chrono::minutes(5);
  /// From a request's first bytes to its last.
  Micros request_timeout = std::chrono::seconds(10);
  /// Output waits, and the client takes none of it.
  Micros write_timeout = std::chrono::seconds(30);
  /// How long a client whose connection we end may go on sending. Closed at once, it might lose our
  /// last answer.
  Micros linger = std::chrono::seconds(1);
  /// How often a session checks its timeouts.
  Micros check_interval = std::chrono::seconds(1);
  /// Connections of one loop beyond the bounds, for operators. Each is for one request.
  std::size_t reserved = 0;
};

}  // namespace sluice::transport
