#include "identity/authenticator.h"

#include <openssl/crypto.h>

namespace sluice::identity {

void AccessSources::AddCertificate(std::string subject, Role role) {
  auto principal = std::make_shared<const Principal>(
      Principal{.name = subject, .role = role, .authentication = Authentication::kCertificate});
  certificates.emplace_back(std::move(subject), std::move(principal));
}

Authenticator::Authenticator(AccessSources& sources, std::function<SteadyTime()> clock)
    : sources_(sources), clock_(std::move(clock)), tokens_(sources.tokens), jwt_(sources.jwt) {}

bool Authenticator::trusts_local() const {
  return sources_.bootstrap_token.empty() && sources_.certificates.empty() && !sources_.uses_jwt;
}

bool Authenticator::has_tokens() {
  const Snapshot<TokenSet>& tokens = tokens_.Get();
  return tokens && tokens->size() > 0;
}

bool Authenticator::IsCredential(std::string_view text) const {
  return !text.empty() && (!trusts_local() || !TokenIdOf(text).empty());
}

bool Authenticator::IsBootstrapToken(std::string_view token) const {
  const std::string& right = sources_.bootstrap_token;
  return !right.empty() && token.size() == right.size() &&
         CRYPTO_memcmp(token.data(), right.data(), right.size()) == 0;
}

PrincipalPointer Authenticator::Find(std::string_view token, WallTime now) {
  if (IsBootstrapToken(token)) return BootstrapPrincipal();
  if (!TokenIdOf(token).empty()) {
    const Snapshot<TokenSet>& tokens = tokens_.Get();
    return tokens ? tokens->Find(token, now) : nullptr;
  }
  if (!sources_.uses_jwt || !LooksLikeJwt(token)) return nullptr;
  const Snapshot<JwtRoles>& jwt = jwt_.Get();
  return jwt ? jwt->Find(token, now) : nullptr;
}

Login Authenticator::Check(std::string_view token, const std::optional<Address>& from,
                           Lockout lockout, WallTime now) {
  const SteadyTime steady_now = clock_();
  // Verifying a signature is work that a flood of guesses must not cause.
  if (sources_.guard.IsLimited(from, lockout, steady_now)) {
    return {.verdict = TokenVerdict::kLimited};
  }
  PrincipalPointer principal = Find(token, now);
  const TokenVerdict verdict =
      sources_.guard.Check(principal != nullptr, from, lockout, steady_now);
  if (verdict != TokenVerdict::kRight) return {.verdict = verdict};
  return {.verdict = verdict, .principal = std::move(principal)};
}

PrincipalPointer Authenticator::FindCertificate(std::string_view subject) const {
  if (subject.empty()) return nullptr;
  for (const auto& [known, principal] : sources_.certificates) {
    if (known == subject) return principal;
  }
  return nullptr;
}

PrincipalPointer Authenticator::Revalidate(PrincipalPointer principal, WallTime now) {
  if (now >= principal->expires_at) return AnonymousPrincipal();
  if (principal->token_id.empty()) return principal;
  const Snapshot<TokenSet>& tokens = tokens_.Get();
  PrincipalPointer current = tokens ? tokens->FindById(principal->token_id, now) : nullptr;
  return current ? current : AnonymousPrincipal();
}

}  // namespace sluice::identity
