#pragma once

#include <cstdint>
#include <string>

#include "api/admin/access.h"
#include "api/admin/admin_services.h"
#include "api/admin/audit_trail.h"
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

  /// Returns the client and what it may do: by its token; without one, as a local client of a
  /// server that has none.
  [[nodiscard]] const identity::Principal& principal() const {
    if (login) return *login;
    return peer.is_local && !services.admin().has_admin_token() ? *LocalPrincipal() : Anonymous();
  }
};

}  // namespace sluice::api
