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

using identity::Principal;
using identity::Role;
using identity::TokenVerdict;
using wire::HttpName;
using wire::HttpRequest;

// The token of "Bearer <token>"; the scheme in upper or lower case.
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

// Whether it is a header that proxies add to what they forward.
bool IsOfProxies(std::string_view header) {
  constexpr std::string_view kFamily = "x-forwarded-";
  return EqualIgnoringCase(header.substr(0, kFamily.size()), kFamily) ||
         EqualIgnoringCase(header, "forwarded") || EqualIgnoringCase(header, "via") ||
         EqualIgnoringCase(header, "x-real-ip");
}

constexpr std::string_view kSecFetchSite = "sec-fetch-site";

// Whether a browser says that a page of another site has made it send the request.
bool IsCrossSite(const HttpRequest& request) {
  const wire::HttpHeader* const site = request.Find(kSecFetchSite);
  return site != nullptr && site->value != "none" && site->value != "same-origin";
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
  if (request.Find(HttpName::kOrigin) != nullptr) {
    return "a request with an Origin comes from a page in a browser: without an admin token such "
           "are refused";
  }
  if (IsCrossSite(request)) {
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

Access RefuseToken(TokenVerdict verdict, bool shows_one) {
  if (verdict == TokenVerdict::kLimited) {
    return {.closes = true, .problem = {.code = ProblemCode::kTooManyAttempts}};
  }
  return {.problem = {.code = ProblemCode::kUnauthorized,
                      .detail = shows_one ? "the token is not the admin token"
                                          : "this needs the admin token: send "
                                            "Authorization: Bearer <token>"}};
}

Access Authorize(identity::PrincipalPointer principal, Role least) {
  if (principal->Has(least)) return {.granted = true, .principal = std::move(principal)};
  std::string detail = "this needs the role ";
  detail.append(LabelOf(least)).append(", the caller has ").append(LabelOf(principal->role));
  return {.problem = {.code = ProblemCode::kForbidden, .detail = std::move(detail)}};
}

// Returns a media type without its parameters.
std::string_view EssenceOf(std::string_view type) {
  return TrimBlanks(type.substr(0, type.find_first_of(";,")));
}

}  // namespace

const identity::PrincipalPointer& LocalPrincipal() {
  static const auto local = std::make_shared<const Principal>(Principal{
      .name = "local", .role = Role::kAdmin, .authentication = identity::Authentication::kLocal});
  return local;
}

Login LogIn(ServerServices& services, Protocol protocol, const Peer& peer, std::string_view token) {
  const bool is_shared =
      peer.is_local || !peer.ip || services.identifier().proxies().TrustsPeer(peer.ip);
  Login login = services.admin().CheckToken(
      token, peer.ip, is_shared ? identity::Lockout::kNo : identity::Lockout::kYes);
  if (login.verdict != TokenVerdict::kRight) {
    services.CountTokenFailure(protocol, peer, login.verdict);
  }
  return login;
}

Access CheckHttpAccess(ServerServices& services, const Peer& peer,
                       const std::vector<std::string>& hosts, const HttpRequest& request,
                       Role least) {
  if (least <= Role::kChecker) return {.granted = true};
  if (services.admin().has_admin_token()) {
    const std::string_view token = BearerToken(request.Get(HttpName::kAuthorization));
    if (token.empty()) return RefuseToken(TokenVerdict::kWrong, false);
    Login login = LogIn(services, Protocol::kHttp, peer, token);
    if (login.verdict != TokenVerdict::kRight) return RefuseToken(login.verdict, true);
    return Authorize(std::move(login.principal), least);
  }
  const std::string_view why =
      peer.is_local ? WhyNotLocal(peer, hosts, request) : std::string_view();
  if (peer.is_local && why.empty()) return Authorize(LocalPrincipal(), least);
  return {.problem = {.code = ProblemCode::kForbidden, .detail = std::string(why)}};
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
