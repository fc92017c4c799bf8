#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/problem.h"
#include "api/admin/admin_services.h"
#include "api/server_services.h"
#include "identity/token_guard.h"
#include "wire/http_request.h"

namespace sluice::api {

/// Compares a token that a client shows with the admin token. Counts wrong ones, and bounds them:
/// see identity::TokenGuard. After kLimited the connection must be closed.
[[nodiscard]] identity::TokenVerdict CheckAdminToken(ServerServices& services, Protocol protocol,
                                                     const Peer& peer, std::string_view token);

/// Whether a request may use the routes for administrators.
struct AdminAccess {
  bool granted = false;
  bool closes = false;  ///< Too many wrong tokens: the connection is not to be kept.
  Problem problem{};    ///< Why not, unless it is granted.
};

/// With a token where one is set. Else by being local, if it is certain: a page in a browser is not
/// its user, and a proxy speaks for its clients. `hosts` are names, beside `localhost`, under which
/// the server may be called without a token, as NormalizeHost writes them.
[[nodiscard]] AdminAccess CheckAdminAccess(ServerServices& services, const Peer& peer,
                                           const std::vector<std::string>& hosts,
                                           const wire::HttpRequest& request);

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
