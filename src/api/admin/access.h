#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/problem.h"
#include "api/admin/admin_services.h"
#include "api/server_services.h"
#include "identity/authenticator.h"
#include "wire/http_request.h"

namespace sluice::api {

/// Finds the principal of a token that a client shows. Counts wrong ones, and bounds them: see
/// identity::TokenGuard. After kLimited the connection must be closed.
[[nodiscard]] identity::Login LogIn(ServerServices& services, Protocol protocol, const Peer& peer,
                                    std::string_view token);

/// Whether a caller with this principal needs a credential for a row of a table with this role.
[[nodiscard]] inline bool NeedsRole(ServerServices& services, identity::Role least) {
  return least > identity::Role::kChecker || (least == identity::Role::kChecker &&
                                              services.admin().authenticator().checks_need_token());
}

/// The header that brings a token where `Authorization` is the end client's: with forward-auth.
inline constexpr std::string_view kTokenHeader = "x-sluice-token";

/// Returns the token of "Bearer <token>", the scheme in upper or lower case; empty: there is none.
[[nodiscard]] std::string_view BearerToken(std::string_view authorization);

/// Returns the reason why a principal may not change something outside of its scope.
[[nodiscard]] std::string OutOfScope(const identity::Principal& principal);

/// Whether a request may use a route.
struct Access {
  bool granted = false;
  bool closes = false;                     ///< Too many wrong tokens: close the connection.
  identity::PrincipalPointer principal{};  ///< Null where the route needs no role.
  Problem problem{};                       ///< The reason, unless it is granted.
};

/// The right that a route requires of a request.
struct Requirement {
  identity::Role least = identity::Role::kNone;
  /// It changes what a token with a scope may not change: only one without may use it.
  bool needs_whole_scope = false;
  bool has_own_authorization = true;  ///< False: `Authorization` is the end client's.
};

/// Returns whether a request has at least this role: by its token or its certificate. Else, where
/// the settings have no credentials, by being local, if it is certain: a page in a browser is not
/// its user, and a proxy speaks for its clients. `hosts` are names, beside `localhost`, under which
/// the server may be called without a token, as NormalizeHost writes them.
[[nodiscard]] Access CheckHttpAccess(ServerServices& services, const Peer& peer,
                                     const std::vector<std::string>& hosts,
                                     const wire::HttpRequest& request,
                                     const Requirement& requirement);

/// Grants access to a principal that has what a route needs.
[[nodiscard]] Access Authorize(identity::PrincipalPointer principal,
                               const Requirement& requirement);

/// Whether a browser says that a page of another origin made it send the request: by
/// Sec-Fetch-Site, and by Origin if it does not send that.
[[nodiscard]] bool IsCrossOrigin(const wire::HttpRequest& request);

enum class BodyUse : std::uint8_t {
  kJson,
  kDocument,  ///< Of rules, or a part of one: YAML or JSON.
};

/// Returns the type of a request's body without parameters, as it was sent.
[[nodiscard]] std::string_view BodyType(const wire::HttpRequest& request);
/// Whether a media type is YAML: application/yaml (RFC 9512) and its older names.
[[nodiscard]] bool IsYamlType(std::string_view type);

/// Why a body is not read, for its type: 415. A page of any origin can make a browser send the
/// types that HTML forms have without asking us first. Forms and bodies without a type are read
/// where no browser sent them, since curl -d sends such.
[[nodiscard]] std::optional<Problem> BodyTypeProblem(const wire::HttpRequest& request,
                                                     BodyUse use = BodyUse::kJson);

}  // namespace sluice::api
