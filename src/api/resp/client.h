#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "api/admin/admin_services.h"
#include "api/server_services.h"
#include "resp/encoder.h"

namespace sluice::api {

/// The client of a connection of the Redis protocol, with the properties that it has set.
struct RespClient {
  ServerServices& services;
  Peer peer;
  std::uint64_t id = 0;
  resp::Protocol protocol = resp::Protocol::kResp2;
  identity::PrincipalPointer login{};  ///< Of AUTH; null: the client has not shown a token.
  bool quits = false;                  ///< The last command asked for the end of the connection.
  std::string name{};
  std::string library{};
  std::string library_version{};

  /// Returns the client and what it may do: by its token, as long as that is valid, or by its
  /// certificate; without them, as a local client of a server that trusts those.
  [[nodiscard]] identity::PrincipalPointer principal() {
    identity::Authenticator& authenticator = services.admin().authenticator();
    if (login) return login = authenticator.Revalidate(std::move(login), services.now());
    if (auto found = authenticator.FindCertificate(peer.tls_subject)) return found;
    return peer.is_local && authenticator.trusts_local() ? identity::LocalPrincipal()
                                                         : identity::AnonymousPrincipal();
  }
};

}  // namespace sluice::api
