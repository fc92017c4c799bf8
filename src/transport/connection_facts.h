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
  bool is_reserved = false;              ///< Beyond the limits: see Admission::EnterReserve.
  bool is_proxied = false;  ///< It began with the PROXY protocol, with or without an address.
  bool asked_for_certificate =
      false;  ///< TLS requested a client certificate; an empty `subject` means that there is none.
  net::TlsSubject subject{};  ///< The subject of the client's certificate.
};

}  // namespace sluice::transport
