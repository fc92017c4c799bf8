#pragma once

#include <cstdint>
#include <string>

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
  bool showed_token = false;
  bool quits = false;  ///< The last command asked for the end of the connection.
  std::string name{};
  std::string library{};
  std::string library_version{};

  [[nodiscard]] bool may_administer() const {
    return MayAdminister(services.admin(), peer, showed_token);
  }
};

}  // namespace sluice::api
