#pragma once

#include <string_view>

#include "transport/session.h"

namespace sluice::transport {

/// Takes the place of a session during a TLS handshake, when it is not known yet
/// whom it would be with. A slow client here is slow on purpose.
class HandshakeSession final : public transport::Session {
 public:
  void Receive(std::string_view /*bytes*/) override {}
  [[nodiscard]] bool in_request() const override { return true; }
  void Drain() override { closing_ = true; }
};

}  // namespace sluice::transport
