#pragma once

#include <string_view>

#include "api/session.h"

namespace sluice::server {

/// What a connection has in place of a session during a TLS handshake, when it is not known yet
/// whom it would be with. Whoever is slow here is slow on purpose.
class HandshakeSession final : public api::Session {
 public:
  void Receive(std::string_view /*bytes*/) override {}
  [[nodiscard]] bool in_request() const override { return true; }
  void Drain() override { closing_ = true; }
};

}  // namespace sluice::server
