#include "identity/jwt_roles.h"

#include <algorithm>

#include "identity/access_token.h"
#include "identity/jwt_keys.h"

namespace sluice::identity {
namespace {

// Enough for administrators and services.
constexpr std::size_t kRemembered = 64;

Error JwtRolesError(std::string message) {
  return {ErrorCode::kInvalidOptions, std::move(message)};
}

}  // namespace

Result<JwtRoles> JwtRoles::Make(JwtRoleOptions options,
                                const std::vector<std::string>& other_files) {
  if (options.issuer.empty() || options.audience.empty() || options.key_files.empty()) {
    return JwtRolesError("key_files, issuer and audience are all required");
  }
  if (options.claim.empty()) return JwtRolesError("claim must name a claim");
  auto keys = ReadJwtKeyFiles(options.key_files);
  if (!keys) return keys.error();
  if (keys->empty()) return JwtRolesError("the key files have no keys");
  // Files that can't be read are reported by their owner, the Identifier.
  const auto others = ReadJwtKeyFiles(other_files);
  for (const JwtKey& key : *keys) {
    const bool is_shared =
        others && std::any_of(others->begin(), others->end(),
                              [&](const JwtKey& other) { return key.IsSameKey(other); });
    if (!is_shared) continue;
    return JwtRolesError(
        "a key is also one of identity.jwt, whose tokens are those of end customers");
  }
  JwtRoles made(std::move(options));
  made.verifier_ = std::make_unique<const JwtVerifier>(
      JwtRules{.claims = {{made.options_.claim, "role"}, {"sub", "name"}},
               .unverified = false,
               .issuer = made.options_.issuer,
               .audience = made.options_.audience,
               .require_expiry = true,
               .leeway = made.options_.leeway},
      *std::move(keys));
  made.cache_ = std::make_unique<TokenCache>(kRemembered);
  return made;
}

Role JwtRoles::RoleOf(std::string_view value) const {
  if (options_.roles.empty()) return ParseRole(value).value_or(Role::kNone);
  const auto found = std::find_if(options_.roles.begin(), options_.roles.end(),
                                  [&](const auto& mapped) { return mapped.first == value; });
  return found == options_.roles.end() ? Role::kNone : found->second;
}

PrincipalPointer JwtRoles::Find(std::string_view token, WallTime now) const {
  JwtContent content;
  if (!cache_->Find(token, content)) {
    if (verifier_->Read(token, content) != JwtStatus::kValid) return nullptr;
    if (content.StatusAt(now) == JwtStatus::kValid) cache_->Put(token, content);
  }
  if (content.StatusAt(now) != JwtStatus::kValid) return nullptr;
  std::string_view packed = content.packed;
  const Role role = RoleOf(TakeValue(packed));
  const std::string_view subject = TakeValue(packed);
  if (role == Role::kNone) return nullptr;
  return std::make_shared<const Principal>(
      Principal{.name = subject.empty() ? std::string("jwt") : std::string(subject),
                .role = role,
                .authentication = Authentication::kJwt,
                .expires_at = content.expires});
}

bool LooksLikeJwt(std::string_view text) {
  return std::count(text.begin(), text.end(), '.') == 2 && text.size() <= kMaxTokenBytes;
}

}  // namespace sluice::identity
