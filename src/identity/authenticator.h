#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "base/clock.h"
#include "base/live.h"
#include "base/network.h"
#include "identity/jwt_roles.h"
#include "identity/principal.h"
#include "identity/token_guard.h"
#include "identity/token_set.h"

namespace sluice::identity {

/// Where the roles of a server's clients come from, for all its threads. Plain values don't change
/// once threads use it.
struct AccessSources {
  std::string bootstrap_token{};  ///< Empty: none.
  /// Subjects of certificates (RFC 2253), and their roles.
  std::vector<std::pair<std::string, PrincipalPointer>> certificates{};
  bool uses_jwt = false;
  Live<JwtRoles> jwt{};
  Live<TokenSet> tokens{};
  TokenUses token_uses{};
  TokenGuard guard{};
  bool checks_need_token = false;  ///< Checks need the role checker.

  /// Adds the role of a certificate.
  void AddCertificate(std::string subject, Role role);
};

/// The result of showing a token.
struct Login {
  TokenVerdict verdict = TokenVerdict::kWrong;
  PrincipalPointer principal{};  ///< Set with kRight.
};

/// Finds the principals of credentials. Each thread has its own; takes no lock while tokens are
/// right and do not change.
class Authenticator {
 public:
  /// `sources` must outlive it; `clock` is for the bound on wrong tokens.
  explicit Authenticator(AccessSources& sources,
                         std::function<SteadyTime()> clock = SteadyClock::Now);

  /// Whether local clients are administrators: the settings have no credentials. Tokens that were
  /// created make no difference, so that a store that can't be read makes none either.
  [[nodiscard]] bool trusts_local() const;
  [[nodiscard]] bool checks_need_token() const { return sources_.checks_need_token; }
  /// Returns the tokens in force, for any thread; null: none yet.
  [[nodiscard]] std::shared_ptr<const TokenSet> tokens() { return tokens_.Get().Share(); }
  /// Whether there are tokens beside the one in the settings.
  [[nodiscard]] bool has_tokens();
  /// Whether a text is a credential here. Where local clients are trusted, only tokens that were
  /// created are: others are ignored, as before there were roles.
  [[nodiscard]] bool IsCredential(std::string_view text) const;

  /// Finds the principal of a token, and bounds wrong ones: see TokenGuard. `from` is nothing for
  /// Unix sockets.
  [[nodiscard]] Login Check(std::string_view token, const std::optional<Address>& from,
                            Lockout lockout, WallTime now);
  /// Returns the principal of a verified certificate; null: it has no role.
  [[nodiscard]] PrincipalPointer FindCertificate(std::string_view subject) const;
  /// Returns what a principal is now: the same, or the anonymous one if its token was revoked or
  /// has expired.
  [[nodiscard]] PrincipalPointer Revalidate(PrincipalPointer principal, WallTime now);

 private:
  [[nodiscard]] PrincipalPointer Find(std::string_view token, WallTime now);
  [[nodiscard]] bool IsBootstrapToken(std::string_view token) const;

  AccessSources& sources_;
  std::function<SteadyTime()> clock_;
  LiveReader<TokenSet> tokens_;
  LiveReader<JwtRoles> jwt_;
};

}  // namespace sluice::identity
