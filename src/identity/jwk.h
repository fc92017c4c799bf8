#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "identity/jwt_keys.h"

namespace sluice::identity {

/// Returns the error of the key file `name`.
[[nodiscard]] Error KeyFileError(const std::string& name, const std::string& problem);

/// Parses a JSON Web Key (RFC 7517) or a set of them. Returns the keys for HS256, RS256 and ES256.
/// `name` is for messages.
[[nodiscard]] Result<std::vector<JwtKey>> ReadJwks(std::string_view json, const std::string& name);

}  // namespace sluice::identity
