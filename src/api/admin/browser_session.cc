#include "api/admin/browser_session.h"

#include <array>
#include <span>
#include <utility>

#include <openssl/crypto.h>

#include "base/ascii.h"
#include "base/base64url.h"
#include "base/random.h"
#include "identity/credentials.h"
#include "identity/identifier.h"

namespace sluice::api {
namespace {

using wire::HttpMethod;
using wire::HttpName;
using wire::HttpRequest;

constexpr std::size_t kTimeBytes = 8;
constexpr std::size_t kCsrfBytes = 16;

std::string_view PortOf(std::string_view host) {
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || host.find(']', colon) != std::string_view::npos) return {};
  const std::string_view port = host.substr(colon + 1);
  const bool is_number = port.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? port : std::string_view();
}

bool EqualSecrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Access RefuseBrowser(std::string_view why) {
  return {.problem = {.code = ProblemCode::kForbidden, .detail = std::string(why)}};
}

}  // namespace

BrowserSession BrowserSessions::Begin(std::string_view token, WallTime now) {
  std::array<std::byte, kCsrfBytes> random{};
  FillRandom(random);
  BrowserSession session{.token = std::string(token), .expires = now + kLifetime};
  AppendBase64Url({reinterpret_cast<const char*>(random.data()), random.size()}, session.csrf);
  return session;
}

// The time of its end, the CSRF token, the token.
std::string BrowserSessions::Seal(const BrowserSession& session) const {
  std::string text;
  const auto end = static_cast<std::uint64_t>(session.expires.time_since_epoch().count());
  for (std::size_t i = 0; i < kTimeBytes; ++i) text += static_cast<char>(end >> (8 * i) & 255);
  std::string csrf;
  if (!DecodeBase64Url(session.csrf, csrf) || csrf.size() != kCsrfBytes) return {};
  return sealer_.Seal(text + csrf + session.token);
}

std::optional<BrowserSession> BrowserSessions::Open(std::string_view sealed, WallTime now) const {
  const auto text = sealer_.Open(sealed);
  if (!text || text->size() < kTimeBytes + kCsrfBytes) return std::nullopt;
  std::uint64_t end = 0;
  for (std::size_t i = kTimeBytes; i > 0; --i) {
    end = end << 8 | static_cast<unsigned char>((*text)[i - 1]);
  }
  BrowserSession session{.token = text->substr(kTimeBytes + kCsrfBytes),
                         .expires = WallTime(Micros(static_cast<std::int64_t>(end)))};
  AppendBase64Url(std::string_view(*text).substr(kTimeBytes, kCsrfBytes), session.csrf);
  // Also one from the future, of a clock that was set back, is over after its lifetime.
  if (now >= session.expires || session.expires - now > kLifetime) return std::nullopt;
  return session;
}

bool UsesHttps(ServerServices& services, const Peer& peer, const HttpRequest& request) {
  return peer.is_encrypted || (services.identifier().proxies().TrustsPeer(peer.ip) &&
                               EqualIgnoringCase(request.Get(HttpName::kXForwardedProto), "https"));
}

std::string SessionCookieName(const HttpRequest& request, bool uses_https) {
  std::string name(uses_https ? "__Host-sluice-session" : "sluice-session");
  if (const std::string_view port = PortOf(request.host); !port.empty()) {
    name.append("-").append(port);
  }
  return name;
}

std::optional<BrowserSession> FindSession(ServerServices& services, const BrowserSessions& sessions,
                                          const Peer& peer, const HttpRequest& request) {
  if (request.Find(HttpName::kCookie) == nullptr) return std::nullopt;
  const identity::Credential cookie =
      identity::FindCookie(identity::HeaderSpan<wire::HttpHeader>(request.headers),
                           SessionCookieName(request, UsesHttps(services, peer, request)));
  if (cookie.status != identity::Credential::Status::kPresent) return std::nullopt;
  return sessions.Open(cookie.value, services.now());
}

Access CheckBrowserAccess(ServerServices& services, const BrowserSessions& sessions,
                          const Peer& peer, const std::vector<std::string>& hosts,
                          const HttpRequest& request, const Requirement& requirement) {
  const bool may_be_session = requirement.least > identity::Role::kChecker &&
                              request.Find(HttpName::kAuthorization) == nullptr &&
                              request.Find(kTokenHeader) == nullptr;
  const auto session =
      may_be_session ? FindSession(services, sessions, peer, request) : std::nullopt;
  if (!session) return CheckHttpAccess(services, peer, hosts, request, requirement);
  if (IsCrossOrigin(request)) {
    return RefuseBrowser("Sec-Fetch-Site says that a page of another origin sent this request");
  }
  const bool changes = request.verb != HttpMethod::kGet && request.verb != HttpMethod::kHead;
  if (changes && !EqualSecrets(request.Get(kCsrfHeader), session->csrf)) {
    return RefuseBrowser("a change by a session of the dashboard needs the session's X-CSRF-Token");
  }
  // No guess: the server itself has sealed the token, so that a failure is not counted as one.
  const identity::Login login = services.admin().authenticator().Check(
      session->token, peer.ip, identity::Lockout::kNo, services.now());
  if (login.verdict != identity::TokenVerdict::kRight) {
    return {.problem = {.code = ProblemCode::kUnauthorized,
                        .detail = "the token of this session is no longer valid"}};
  }
  return Authorize(login.principal, requirement);
}

}  // namespace sluice::api
