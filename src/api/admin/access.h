#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/problem.h"
#include "api/admin/admin_services.h"
#include "api/server_services.h"
#include "identity/principal.h"
#include "identity/token_guard.h"
#include "wire/http_request.h"

namespace sluice::api {

/// Finds the principal of a token that a client shows. Counts wrong ones, and bounds them: see
/// identity::TokenGuard. After kLimited the connection must be closed.
[[nodiscard]] Login LogIn(ServerServices& services, Protocol protocol, const Peer& peer,
                          std::string_view token);

/// Returns the principal of a local client, which is an administrator where no token is set.
[[nodiscard]] const identity::PrincipalPointer& LocalPrincipal();

/// Whether a request may use a route.
struct Access {
  bool granted = false;
  bool closes = false;                     ///< Too many wrong tokens: close the connection.
  identity::PrincipalPointer principal{};  ///< May be null where the route needs no role.
  Problem problem{};                       ///< The reason, unless it is granted.
};

/// Returns whether a request has at least this role: by its token where one is set. Else by being
/// local, if it is certain: a page in a browser is not its user, and a proxy speaks for its
/// clients. `hosts` are names, beside `localhost`, under which the server may be called without a
/// token, as NormalizeHost writes them.
[[nodiscard]] Access CheckHttpAccess(ServerServices& services, const Peer& peer,
                                     const std::vector<std::string>& hosts,
                                     const wire::HttpRequest& request, identity::Role least);

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
