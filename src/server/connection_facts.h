#pragma once

#include <optional>

#include "base/network.h"
#include "net/address.h"
#include "net/tls_channel.h"

namespace sluice::server {

/// What is known of a connection when its conversation begins, whatever is said in it.
struct ConnectionFacts {
  net::PeerAddress peer{};
  std::optional<Address> proxied_for{};  ///< Whom a trusted proxy at the other end speaks for.
  bool is_proxied = false;               ///< It began with the PROXY protocol, whatever that told.
  bool asked_for_certificate = false;    ///< By TLS: what `subject` says is all there is to say.
  net::TlsSubject subject{};             ///< What the client's certificate says.
};

}  // namespace sluice::server
