#pragma once

#include <cstdint>
#include <string>

#include "api/host.h"
#include "resp/encoder.h"

namespace sluice::api {

/// Who talks on a connection of the Redis protocol, and what it has said of itself.
struct RespClient {
  Host& host;
  Peer peer;
  std::uint64_t id = 0;
  resp::Protocol protocol = resp::Protocol::kResp2;
  bool showed_token = false;
  bool quits = false;  ///< The last command asked for the end of the connection.
  std::string name{};
  std::string library{};
  std::string library_version{};

  [[nodiscard]] bool may_administer() const { return MayAdminister(host, peer, showed_token); }
};

}  // namespace sluice::api
