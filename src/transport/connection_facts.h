#pragma once

#include <optional>

#include "base/network.h"
#include "net/address.h"
#include "net/tls_channel.h"

namespace sluice::transport {

/// Properties of a connection that are known before its session starts.
struct ConnectionFacts {
  net::PeerAddress peer{};
  std::optional<Address> proxied_for{};  ///< The client's address according to a trusted proxy.
  bool is_reserved = false;              ///< Beyond the bounds: see Admission::EnterReserve.
  bool is_proxied = false;    ///< It began with the PROXY protocol, whatever address that had.
  bool is_encrypted = false;  ///< By TLS.
  bool asked_for_certificate = false;  ///< By TLS: what `subject` says is all there is to say.
  net::TlsSubject subject{};           ///< The subject of the client's certificate.
};

}  // namespace sluice::transport
