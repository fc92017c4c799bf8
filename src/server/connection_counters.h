#pragma once

#include <cstdint>

#include "base/counter.h"
#include "telemetry/labels.h"

namespace sluice::server {

/// What happened to connections. Each field is written by one thread and read by any.
struct ConnectionCounters {
  Counter accepted{};
  Counter closed{};               ///< For whatever reason: accepted - closed are open.
  Counter refused_total{};        ///< There were too many in all.
  Counter refused_per_address{};  ///< There were too many from one address.
  Counter idle_closed{};
  Counter slow_closed{};       ///< A request that did not end, or an answer that was not taken.
  Counter output_overflow{};   ///< Closed above hard_output_bytes.
  Counter reset{};             ///< The client vanished.
  Counter cut{};               ///< Open when the time to drain was over.
  Counter fd_limit{};          ///< Turned away for want of a file descriptor.
  Counter bad_proxy_header{};  ///< A trusted proxy did not begin with the PROXY protocol.
  Counter bytes_in{};
  Counter bytes_out{};
  telemetry::By<telemetry::TlsHandshake, Counter> handshakes{};
  Counter tls_broken{};  ///< After the handshake: what came was not what TLS would have sent.
};

/// The counters of several threads together, as they were a moment ago.
struct ConnectionTotals {
  std::uint64_t accepted = 0;
  std::uint64_t closed = 0;
  std::uint64_t refused_total = 0;
  std::uint64_t refused_per_address = 0;
  std::uint64_t idle_closed = 0;
  std::uint64_t slow_closed = 0;
  std::uint64_t output_overflow = 0;
  std::uint64_t reset = 0;
  std::uint64_t cut = 0;
  std::uint64_t fd_limit = 0;
  std::uint64_t bad_proxy_header = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  telemetry::By<telemetry::TlsHandshake, std::uint64_t> handshakes{};
  std::uint64_t tls_broken = 0;

  [[nodiscard]] std::uint64_t open() const { return accepted > closed ? accepted - closed : 0; }
  ConnectionTotals& operator+=(const ConnectionCounters& counters);
};

}  // namespace sluice::server
