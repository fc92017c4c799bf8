#pragma once

#include <cstddef>

#include <sluice/time.h>

namespace sluice::server {

/// What one connection may do. Times of zero: no bound.
struct ConnectionLimits {
  /// Above this much unwritten output nothing more is read, above the other the connection ends.
  std::size_t soft_output_bytes = std::size_t{1} << 20;
  std::size_t hard_output_bytes = std::size_t{16} << 20;
  /// With this many requests waiting for a store nothing more is read.
  std::size_t max_pending = 1024;
  /// Nothing asked, nothing to answer.
  Micros idle_timeout = std::chrono::minutes(5);
  /// From a request's first bytes to its last.
  Micros request_timeout = std::chrono::seconds(10);
  /// Output waits, and the client takes none of it.
  Micros write_timeout = std::chrono::seconds(30);
  /// How long a client whose connection we end may go on sending. Closed at once, it might lose our
  /// last answer.
  Micros linger = std::chrono::seconds(1);
  /// How often a session is told the time.
  Micros look = std::chrono::seconds(1);
};

}  // namespace sluice::server
