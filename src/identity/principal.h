#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "base/clock.h"
#include "base/labels.h"

namespace sluice::identity {

/// Rights of a client of the server. Each role includes those before it.
enum class Role : std::uint8_t {
  kNone,
  kChecker,   ///< Checks calls, where the server requires a token for that.
  kViewer,    ///< Reads rules, nodes, limits and reports; API keys are shortened.
  kOperator,  ///< Entries, grants, resets, the log level; sees whole API keys.
  kEditor,    ///< Changes rules and enforcement.
  kAdmin,     ///< Creates and revokes tokens.
};
constexpr std::array<std::string_view, 6> LabelsOf(Role /*any*/) {
  return {"none", "checker", "viewer", "operator", "editor", "admin"};
}

/// How a client has proved who it is.
enum class Authentication : std::uint8_t {
  kNone,
  kBootstrapToken,  ///< admin.token.
  kToken,           ///< One that an administrator has created.
  kCertificate,     ///< By the subject of its TLS certificate.
  kJwt,
  kLocal,  ///< By its address: a loopback address or a Unix socket.
};
/// As audit records name it.
constexpr std::array<std::string_view, 6> LabelsOf(Authentication /*any*/) {
  return {"none", "token", "token", "certificate", "jwt", "local"};
}

/// The client of a request, and what it may do. Immutable once made, so that threads may share it.
struct Principal {
  std::string name{};  ///< For people and audit records: never a secret.
  Role role = Role::kNone;
  std::string scope{};  ///< A prefix: only rules whose ids begin with it may be changed.
  Authentication authentication = Authentication::kNone;
  std::string token_id{};          ///< With Authentication::kToken.
  WallTime expires_at = kMaxTime;  ///< The credential is good before this moment.

  [[nodiscard]] bool Has(Role least) const { return role >= least; }
  /// Whether the principal may change a rule, or what names it. An empty id means all rules.
  [[nodiscard]] bool Covers(std::string_view rule_id) const { return rule_id.starts_with(scope); }

  friend bool operator==(const Principal&, const Principal&) = default;
};

using PrincipalPointer = std::shared_ptr<const Principal>;

/// Returns the principal of a client that has not authenticated.
[[nodiscard]] inline const PrincipalPointer& AnonymousPrincipal() {
  static const PrincipalPointer anonymous = std::make_shared<const Principal>();
  return anonymous;
}

/// Returns the principal of a local client, which is an administrator where the settings have no
/// credentials.
[[nodiscard]] inline const PrincipalPointer& LocalPrincipal() {
  static const PrincipalPointer local = std::make_shared<const Principal>(
      Principal{.name = "local", .role = Role::kAdmin, .authentication = Authentication::kLocal});
  return local;
}

/// Returns the principal of the token in the settings, which creates the others.
[[nodiscard]] inline const PrincipalPointer& BootstrapPrincipal() {
  static const PrincipalPointer bootstrap = std::make_shared<const Principal>(
      Principal{.name = "admin token",
                .role = Role::kAdmin,
                .authentication = Authentication::kBootstrapToken});
  return bootstrap;
}

}  // namespace sluice::identity
