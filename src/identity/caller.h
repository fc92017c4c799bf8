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

/// Room for "2001:db8:1:2::/64".
using NetworkText = std::array<char, kMaxAddressText + 4>;

/// The identified caller, with the buffers for its attributes: made once and used for one request
/// after the other, so that nothing is allocated. For one thread at a time.
class Caller {
 public:
  Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// The attributes for rules; docs/identity.md has the names. They point into this object, or
  /// into the request.
  [[nodiscard]] std::span<const Attribute> attributes() const { return attributes_; }

  /// Nothing: a client at a Unix socket.
  [[nodiscard]] const std::optional<Address>& address() const { return address_; }

  /// Why the call is refused, for people.
  [[nodiscard]] std::string_view problem() const { return problem_; }

 private:
  friend class Identifier;

  std::vector<Attribute> attributes_;
  std::optional<Address> address_;
  std::string_view problem_;

  std::array<char, kMaxAddressText> address_text_;
  NetworkText network_text_;
  KeyDigest::Room digest_;
  std::string query_;  ///< The decoded query.
  JwtContent token_;
};

}  // namespace sluice::identity
