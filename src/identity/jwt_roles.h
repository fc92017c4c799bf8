#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "identity/jwt_verifier.h"
#include "identity/principal.h"
#include "identity/token_cache.h"

namespace sluice::identity {

/// How JSON Web Tokens give roles. They have keys of their own: those of IdentityOptions::jwt
/// verify the tokens of end customers.
struct JwtRoleOptions {
  std::vector<std::string> key_files{};  ///< PEM or JWKS. Empty: no tokens are accepted.
  std::string issuer{};                  ///< Required.
  std::string audience{};                ///< Required.
  std::string claim = "role";            ///< Its value, a text, gives the role.
  /// Values of the claim, and the roles that they give. Empty: the values are names of roles.
  std::vector<std::pair<std::string, Role>> roles{};
  Micros leeway = std::chrono::seconds(60);

  [[nodiscard]] bool is_on() const { return !key_files.empty(); }
};

/// Finds the principals of JSON Web Tokens. Immutable but for the tokens that it remembers; any
/// number of threads may use it.
class JwtRoles {
 public:
  /// Reads the key files. `other_files` are those of end customers' tokens: none of them may have
  /// one of our keys. Fails with kInvalidOptions.
  static Result<JwtRoles> Make(JwtRoleOptions options, const std::vector<std::string>& other_files);

  /// Null: the token is not valid, or gives no role. Tokens must expire.
  [[nodiscard]] PrincipalPointer Find(std::string_view token, WallTime now) const;

 private:
  explicit JwtRoles(JwtRoleOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Role RoleOf(std::string_view value) const;

  JwtRoleOptions options_;
  std::unique_ptr<const JwtVerifier> verifier_;
  std::unique_ptr<TokenCache> cache_;
};

/// Whether a text has the form of a JSON Web Token.
[[nodiscard]] bool LooksLikeJwt(std::string_view text);

}  // namespace sluice::identity
