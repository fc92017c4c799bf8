#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "identity/principal.h"

namespace sluice::identity {

/// A token for the admin API and for checks, as it is stored: with a hash instead of the secret.
/// Clients send "sluice_<id>_<secret>".
struct AccessToken {
  std::string id{};
  std::string name{};  ///< For people and audit records.
  Role role = Role::kNone;
  std::string scope{};   ///< See Principal::scope.
  std::string hash{};    ///< "sha256:" and the digits of the SHA-256 of the whole token.
  std::string author{};  ///< Who created it.
  WallTime created{};
  WallTime expires_at = kMaxTime;  ///< kMaxTime: never.

  friend bool operator==(const AccessToken&, const AccessToken&) = default;
};

/// The first part of every token, by which secret scanners find them.
inline constexpr std::string_view kTokenPrefix = "sluice_";
/// The longest name and scope.
inline constexpr std::size_t kMaxTokenName = 100;

/// Gives a token its id and its hash. Returns what its owner sends: it can't be found out later.
[[nodiscard]] std::string GenerateSecret(AccessToken& token);

/// Returns the id of a text of the form "sluice_<id>_<secret>"; empty: it is none.
[[nodiscard]] std::string_view TokenIdOf(std::string_view text);

/// Returns the problem of a token that someone wants to create; nothing: it can be.
[[nodiscard]] std::optional<std::string> FindTokenProblem(const AccessToken& token);

/// Returns the text of a token's record: JSON, without the id.
[[nodiscard]] std::string ToRecordText(const AccessToken& token);
/// Nothing: the text is not that of a token.
[[nodiscard]] std::optional<AccessToken> ParseRecordText(std::string_view id,
                                                         std::string_view text);

/// Returns the role of this name; nothing: there is none, or it is "none".
[[nodiscard]] std::optional<Role> ParseRole(std::string_view name);

}  // namespace sluice::identity
