#pragma once

#include <string_view>

#include "transport/session.h"

namespace sluice::transport {

/// Placeholder for the session during a TLS handshake. Counts as a request under way, so that the
/// request timeout applies.
class HandshakeSession final : public transport::Session {
 public:
  void Receive(std::string_view /*bytes*/) override {}
  [[nodiscard]] bool in_request() const override { return true; }
  void Drain() override { closing_ = true; }
};

}  // namespace sluice::transport
