#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/network.h"

namespace sluice::api {

enum class Protocol : std::uint8_t { kHttp, kResp, kGrpc };
constexpr std::array<std::string_view, 3> LabelsOf(Protocol /*any*/) {
  return {"http", "resp", "grpc"};
}

/// The client of one connection.
struct Peer {
  std::string address;    ///< As text, without a port; empty for Unix sockets.
  bool is_local = false;  ///< Loopback or a Unix socket: an administrator if no token is set.
  /// The connection exceeds the server's limits. It may send one request, to a route for operators.
  bool is_reserved = false;
  std::uint16_t port = 0;
  std::optional<Address> ip{};  ///< The same address; not set for Unix sockets.
  bool is_encrypted = false;    ///< The connection has TLS.
  /// The listener requests client certificates: `tls_subject` and `tls_cn` can't be sent otherwise.
  bool asked_for_certificate = false;
  std::string tls_subject{};  ///< Subject of the certificate (RFC 2253); empty: no certificate.
  std::string tls_cn{};       ///< The common name in it.
};

}  // namespace sluice::api
