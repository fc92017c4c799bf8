#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "identity/client_address.h"
#include "identity/jwt_verifier.h"

/// Options of the identification of callers. docs/identity.md explains each of them.
namespace sluice::identity {

/// A source of credentials.
struct Source {
  enum class Kind : std::uint8_t {
    kHeader,
    kBearer,  ///< The header Authorization with the scheme Bearer.
    kQuery,
    kCookie,
    kJwt,  ///< Claims of the token at `JwtOptions::from`.
  };
  Kind kind = Kind::kHeader;
  std::string name{};  ///< Of the header, the parameter or the cookie; else empty.

  friend bool operator==(const Source&, const Source&) = default;
};

/// Reads "header:X-API-Key", "bearer", "query:api_key", "cookie:session" or "jwt". Fails with
/// kInvalidOptions.
[[nodiscard]] Result<Source> ParseSource(std::string_view text);

/// Writes a source as ParseSource reads it.
[[nodiscard]] std::string Describe(const Source& source);

/// The treatment of a call with an invalid token.
enum class OnInvalidToken : std::uint8_t {
  kRefuse,     ///< It is refused, with 401.
  kAnonymous,  ///< Identified by its address only.
};

struct JwtOptions {
  Source from{.kind = Source::Kind::kBearer};
  JwtRules rules{};
  std::vector<std::string> key_files{};  ///< PEM or JWKS.
  std::string secret_file{};             ///< For HS256.
  OnInvalidToken on_invalid = OnInvalidToken::kRefuse;
};

struct IdentityOptions {
  /// In order of precedence.
  std::vector<Source> sources = {{.kind = Source::Kind::kHeader, .name = "X-API-Key"}};
  std::vector<std::string> trusted_proxies{};
  AddressHeader address_header = AddressHeader::kXForwardedFor;
  int ipv6_prefix = 64;  ///< IPv6 addresses that begin with the same bits share a budget.
  bool hash_keys = false;
  std::string hash_secret{};  ///< Or from a file; required with `hash_keys`.
  std::string hash_secret_file{};
  JwtOptions jwt{};

  /// Returns the configured files.
  [[nodiscard]] std::vector<std::string> Files() const;
};

}  // namespace sluice::identity
