#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/counter.h"
#include "base/labels.h"
#include "base/metrics.h"

namespace sluice::transport {

/// The reason why a connection was not accepted.
enum class Refusal : std::uint8_t {
  kMaxConnections,
  kMaxPerAddress,
  kNoDescriptors,  ///< The process had no free file descriptor.
};
constexpr std::array<std::string_view, 3> LabelsOf(Refusal /*any*/) {
  return {"max_connections", "max_per_address", "no_descriptors"};
}

/// A limit on resources that a client exceeded.
enum class ResourceBound : std::uint8_t {
  kIdle,
  kSlowRequest,  ///< A request that did not end, or a response that was not read.
  kHeaderSize,
  kBodySize,
  kOutputBuffer,  ///< Above hard_output_bytes.
  kSilent,        ///< No first byte while half of the connections were in use.
  kMemory,        ///< Held most when all connections together held too much.
};
constexpr std::array<std::string_view, 7> LabelsOf(ResourceBound /*any*/) {
  return {"idle", "slow_request", "header_size", "body_size", "output_buffer", "silent", "memory"};
}

/// The result of a TLS handshake.
enum class TlsHandshake : std::uint8_t {
  kDone,
  kResumed,        ///< Abbreviated, with a session ticket.
  kNotTls,         ///< The client does not speak TLS.
  kNothingShared,  ///< No common version, cipher or ALPN protocol.
  kNoCertificate,  ///< The client sent none, although one is required.
  kBadCertificate,
  kRefused,    ///< By the client; most do not trust the server's certificate.
  kBroken,     ///< A violation of the protocol.
  kTimeout,    ///< The client took too long.
  kAbandoned,  ///< The client disconnected, or the server shut down.
};
constexpr std::array<std::string_view, 10> LabelsOf(TlsHandshake /*any*/) {
  return {"done",    "resumed", "not_tls", "nothing_shared", "no_certificate", "bad_certificate",
          "refused", "broken",  "timeout", "abandoned"};
}

struct TlsCounters {
  EnumArray<TlsHandshake, Counter> handshakes{};
  Counter delayed{};  ///< Their address had too many unfinished ones.
  Counter broken{};   ///< After the handshake, by an invalid record.

  void operator+=(const TlsCounters& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = TlsCounters;
    return std::tuple{
        Metric{kCounter, "rate_limiter_tls_handshakes_total", "TLS handshakes by result.",
               &S::handshakes, "result"},
        Metric{kCounter, "rate_limiter_tls_handshakes_delayed_total",
               "TLS handshakes delayed because their address had too many unfinished ones.",
               &S::delayed},
        Metric{kCounter, "rate_limiter_tls_broken_total",
               "Connections closed after the handshake because of an invalid TLS record.",
               &S::broken}};
  }
};
static_assert(HasAllMetrics<TlsCounters>);

/// Counters of connections. Each field is written by one thread and read by any.
struct ConnectionCounters {
  Counter closed{};  ///< Summed before `accepted`, lest more seem to have been closed than opened.
  Counter accepted{};
  EnumArray<Refusal, Counter> refused{};
  Counter reserved{};  ///< Beyond the limits, and served: health, administration.
  EnumArray<ResourceBound, Counter> bounds_exceeded{};
  Counter reset{};             ///< The client vanished.
  Counter cut{};               ///< Open at the drain deadline.
  Counter bad_proxy_header{};  ///< A trusted proxy did not begin with the PROXY protocol.
  Counter bytes_in{};
  Counter bytes_out{};
  TlsCounters tls{};

  [[nodiscard]] std::uint64_t open() const { return accepted > closed ? accepted - closed : 0; }
  void operator+=(const ConnectionCounters& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = ConnectionCounters;
    return std::tuple{
        Unlisted{&S::closed},
        Metric{kGauge, "rate_limiter_connections", "Open connections.", &S::open},
        Metric{kCounter, "rate_limiter_connections_accepted_total", "Connections accepted.",
               &S::accepted},
        Metric{kCounter, "rate_limiter_connections_refused_total", "Connections refused.",
               &S::refused, "reason"},
        Metric{kCounter, "rate_limiter_connections_reserved_total",
               "Connections beyond the limits that served health, metrics or admin requests.",
               &S::reserved},
        Metric{kCounter, "rate_limiter_connections_reset_total",
               "Connections that failed or were reset by the client.", &S::reset},
        Metric{kCounter, "rate_limiter_bounds_exceeded_total",
               "Clients that exceeded a limit on resources.", &S::bounds_exceeded, "bound"},
        Metric{kCounter, "rate_limiter_proxy_header_errors_total",
               "Trusted proxies that did not begin with the PROXY protocol.", &S::bad_proxy_header},
        Metric{kCounter, "rate_limiter_received_bytes_total", "Bytes received from clients.",
               &S::bytes_in},
        Metric{kCounter, "rate_limiter_sent_bytes_total", "Bytes sent to clients.", &S::bytes_out},
        Unlisted{&S::cut},  // Nothing reads a page after the drain deadline.
        Unlisted{&S::tls}};
  }
};
static_assert(HasAllMetrics<ConnectionCounters>);

}  // namespace sluice::transport
