#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/rules.h>

#include "base/network.h"
#include "identity/jwt_verifier.h"
#include "identity/key_digest.h"

namespace sluice::identity {

/// Buffer for "2001:db8:1:2::/64".
using NetworkText = std::array<char, kMaxAddressText + 4>;

/// The identified caller, with buffers for its attributes. Reused for many requests to avoid
/// allocations. Not thread-safe.
class Caller {
 public:
  Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// The attributes for rules; docs/identity.md has the names. They point into this object, or
  /// into the request.
  [[nodiscard]] std::span<const Attribute> attributes() const { return attributes_; }

  /// Nothing for a client of a Unix socket.
  [[nodiscard]] const std::optional<Address>& address() const { return address_; }

  /// The reason why the call is rejected, for messages.
  [[nodiscard]] std::string_view problem() const { return problem_; }

 private:
  friend class Identifier;

  std::vector<Attribute> attributes_;
  std::optional<Address> address_;
  std::string_view problem_;

  std::array<char, kMaxAddressText> address_text_;
  NetworkText network_text_;
  KeyDigest::Buffer digest_;
  std::string query_;  ///< The decoded query.
  JwtContent token_;
};

}  // namespace sluice::identity
