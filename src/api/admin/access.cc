#include "api/admin/access.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/ascii.h"
#include "base/host_name.h"
#include "base/network.h"

namespace sluice::api {
namespace {

using identity::Login;
using identity::TokenVerdict;
using wire::HttpName;
using wire::HttpRequest;

// Whether it is a header that proxies add to what they forward.
bool IsOfProxies(std::string_view header) {
  constexpr std::string_view kFamily = "x-forwarded-";
  return EqualIgnoringCase(header.substr(0, kFamily.size()), kFamily) ||
         EqualIgnoringCase(header, "forwarded") || EqualIgnoringCase(header, "via") ||
         EqualIgnoringCase(header, "x-real-ip");
}

constexpr std::string_view kSecFetchSite = "sec-fetch-site";

// Whether the browser says that a page of this very server sent the request. The caller checks that
// no page can have chosen the server's name.
bool IsOwnOrigin(const HttpRequest& request) {
  std::string_view origin = request.Get(HttpName::kOrigin);
  const auto scheme = origin.find("://");
  if (scheme == std::string_view::npos || request.host.empty()) return false;
  return EqualIgnoringCase(origin.substr(scheme + 3), request.host);
}

// Whether no page can have chosen the name that the server is called by. A name that its owner lets
// point to this machine (DNS rebinding) makes that owner's pages look like our own to a browser.
// Without a Host no browser has sent the request.
bool IsOwnHost(std::string_view host, const std::vector<std::string>& hosts) {
  if (host.empty()) return true;
  std::string buffer;
  const std::string_view name = NormalizeHost(host, buffer);
  return name == "localhost" || ParseAddress(name) ||
         std::find(hosts.begin(), hosts.end(), name) != hosts.end();
}

// Why a request from this very machine may come from elsewhere all the same. Empty: it can't.
std::string_view WhyNotLocal(const Peer& peer, const std::vector<std::string>& hosts,
                             const HttpRequest& request) {
  if (request.Find(HttpName::kOrigin) != nullptr && !IsOwnOrigin(request)) {
    return "Origin says that a page of another site sent this request: without an admin token such "
           "are refused";
  }
  if (IsCrossOrigin(request)) {
    return "Sec-Fetch-Site says that a page of another site sent this request: without an admin "
           "token such are refused";
  }
  // No browser connects to a Unix socket.
  if (!peer.address.empty() && !IsOwnHost(request.host, hosts)) {
    return "Host is neither an address, nor localhost, nor one of admin.hosts: without an admin "
           "token such requests are refused, since a page may have sent them by DNS rebinding";
  }
  for (const wire::HttpHeader& header : request.headers) {
    if (!IsOfProxies(header.name)) continue;
    return "a proxy has forwarded this request for one of its clients: without an admin token such "
           "are refused";
  }
  return {};
}

// Whether a browser may have sent a request for a page of another origin. It adds the user's
// certificate by itself. With TLS no page can have chosen the server's name.
bool IsFromPage(const HttpRequest& request) {
  return (request.Find(HttpName::kOrigin) != nullptr && !IsOwnOrigin(request)) ||
         IsCrossOrigin(request);
}

Access Refuse(ProblemCode code, std::string detail) {
  return {.problem = {.code = code, .detail = std::move(detail)}};
}

Access RefuseToken(TokenVerdict verdict) {
  if (verdict == TokenVerdict::kLimited) {
    return {.closes = true, .problem = {.code = ProblemCode::kTooManyAttempts}};
  }
  return Refuse(ProblemCode::kUnauthorized,
                "the token is not valid: it is wrong, was revoked or has expired");
}

// The token of a request; empty: it has none. Several are none that is right.
std::string_view TokenOf(const HttpRequest& request, const Requirement& requirement) {
  std::string_view token;
  for (const wire::HttpHeader& header : request.headers) {
    if (header.id != HttpName::kOther || !EqualIgnoringCase(header.name, kTokenHeader)) continue;
    token = token.empty() ? header.value : kTokenHeader;
  }
  if (!token.empty() || !requirement.has_own_authorization) return token;
  return BearerToken(request.Get(HttpName::kAuthorization));
}

// Returns a media type without its parameters.
std::string_view EssenceOf(std::string_view type) {
  return TrimBlanks(type.substr(0, type.find_first_of(";,")));
}

}  // namespace

std::string_view BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size() ||
      !EqualIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) {
    return {};
  }
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

std::string OutOfScope(const identity::Principal& principal) {
  return "the caller's scope is rules whose ids begin with \"" + principal.scope +
         "\", and this changes others";
}

Access Authorize(identity::PrincipalPointer principal, const Requirement& requirement) {
  if (!principal->Has(requirement.least)) {
    std::string detail = "this needs the role ";
    detail.append(LabelOf(requirement.least)).append(", the caller has ");
    return Refuse(ProblemCode::kForbidden, detail.append(LabelOf(principal->role)));
  }
  if (requirement.needs_whole_scope && !principal->scope.empty()) {
    return Refuse(ProblemCode::kForbidden, OutOfScope(*principal));
  }
  return {.granted = true, .principal = std::move(principal)};
}

bool IsCrossOrigin(const HttpRequest& request) {
  if (const wire::HttpHeader* const site = request.Find(kSecFetchSite)) {
    return site->value != "none" && site->value != "same-origin";
  }
  return request.Find(HttpName::kOrigin) != nullptr && !IsOwnOrigin(request);
}

Login LogIn(ServerServices& services, Protocol protocol, const Peer& peer, std::string_view token) {
  const bool is_shared =
      peer.is_local || !peer.ip || services.identifier().proxies().TrustsPeer(peer.ip);
  Login login = services.admin().authenticator().Check(
      token, peer.ip, is_shared ? identity::Lockout::kNo : identity::Lockout::kYes, services.now());
  if (login.verdict != TokenVerdict::kRight) {
    services.CountTokenFailure(protocol, peer, login.verdict);
  }
  return login;
}

Access CheckHttpAccess(ServerServices& services, const Peer& peer,
                       const std::vector<std::string>& hosts, const HttpRequest& request,
                       const Requirement& requirement) {
  if (!NeedsRole(services, requirement.least)) return {.granted = true};
  identity::Authenticator& authenticator = services.admin().authenticator();
  const std::string_view token = TokenOf(request, requirement);
  if (authenticator.IsCredential(token)) {
    Login login = LogIn(services, Protocol::kHttp, peer, token);
    if (login.verdict != TokenVerdict::kRight) return RefuseToken(login.verdict);
    return Authorize(std::move(login.principal), requirement);
  }
  if (auto principal = authenticator.FindCertificate(peer.tls_subject)) {
    if (!IsFromPage(request)) return Authorize(std::move(principal), requirement);
    return Refuse(ProblemCode::kForbidden,
                  "a page in a browser has sent this request: with a certificate and without a "
                  "token such are refused");
  }
  const bool trusts_local = authenticator.trusts_local();
  if (!trusts_local || (!peer.is_local && authenticator.has_tokens())) {
    return Refuse(ProblemCode::kUnauthorized,
                  requirement.has_own_authorization
                      ? "this needs a token: send Authorization: Bearer <token>"
                      : "this needs a token: the proxy must send it in X-Sluice-Token");
  }
  const std::string_view why =
      peer.is_local ? WhyNotLocal(peer, hosts, request) : std::string_view();
  if (peer.is_local && why.empty()) return Authorize(identity::LocalPrincipal(), requirement);
  return Refuse(ProblemCode::kForbidden, std::string(why));
}

std::string_view BodyType(const HttpRequest& request) {
  return EssenceOf(request.Get(HttpName::kContentType));
}

bool IsYamlType(std::string_view type) {
  constexpr std::array<std::string_view, 4> kTypes = {"application/yaml", "text/yaml",
                                                      "application/x-yaml", "text/x-yaml"};
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](std::string_view known) { return EqualIgnoringCase(type, known); });
}

std::optional<Problem> BodyTypeProblem(const HttpRequest& request, BodyUse use) {
  if (request.body.empty()) return std::nullopt;
  const std::string_view type = BodyType(request);
  if (EqualIgnoringCase(type, "application/json")) return std::nullopt;
  if (use == BodyUse::kDocument && IsYamlType(type)) return std::nullopt;
  bool is_refused = use == BodyUse::kDocument || IsYamlType(type) ||
                    EqualIgnoringCase(type, "text/plain") ||
                    EqualIgnoringCase(type, "multipart/form-data");
  if (type.empty() || EqualIgnoringCase(type, "application/x-www-form-urlencoded")) {
    is_refused =
        request.Find(HttpName::kOrigin) != nullptr || request.Find(kSecFetchSite) != nullptr;
  }
  if (!is_refused) return std::nullopt;
  Problem problem{.code = ProblemCode::kUnsupportedMediaType};
  if (use == BodyUse::kDocument) {
    problem.detail =
        "the body must be YAML or JSON: send Content-Type: application/yaml or application/json";
  }
  return problem;
}

}  // namespace sluice::api
