#include <optional>

#include "api/admin/browser_session.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "ui/assets.h"

/// Login of the dashboard: /dashboard/session.
namespace sluice::api {
namespace {

// A page on another machine would send the token in the clear.
bool MayLogIn(HttpExchange& exchange) {
  return exchange.peer.is_local || exchange.loop.options().plaintext_login ||
         UsesHttps(exchange.services(), exchange.peer, exchange.request);
}

// Whether a client without a credential is refused, wherever its page comes from.
bool NeedsToken(const HttpExchange& exchange) {
  identity::Authenticator& authenticator = exchange.admin().authenticator();
  return !authenticator.trusts_local() || (!exchange.peer.is_local && authenticator.has_tokens());
}

constexpr std::string_view kPlaintextDetail =
    "tokens are not taken over plaintext TCP from other machines: use HTTPS (http_tls.listen, or a "
    "proxy of identity.trusted_proxies that sends X-Forwarded-Proto), or set "
    "admin.plaintext_login";

std::string WriteSession(HttpExchange& exchange, const identity::Principal* principal,
                         const std::optional<BrowserSession>& session, std::string_view reason) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("authenticated").Bool(principal != nullptr);
  json.Key("name");
  principal != nullptr ? json.String(principal->name) : json.Null();
  json.Key("role");
  principal != nullptr ? json.String(LabelOf(principal->role)) : json.Null();
  json.Key("scope");
  principal != nullptr && !principal->scope.empty() ? json.String(principal->scope) : json.Null();
  json.Key("csrf");
  session ? json.String(session->csrf) : json.Null();
  json.Key("expires_at");
  session ? json.String(FormatTimestamp(session->expires)) : json.Null();
  json.Key("needs_token").Bool(NeedsToken(exchange));
  json.Key("reason");
  reason.empty() ? json.Null() : json.String(reason);
  json.Key("server_version").String(exchange.services().version());
  json.Key("bundle").String(ui::AssetBundle());
  json.EndObject();
  return body;
}

std::string CookieOf(std::string_view name, std::string_view value, std::int64_t seconds,
                     bool is_secure) {
  std::string cookie(name);
  cookie.append("=").append(value).append("; Path=/; HttpOnly; SameSite=Strict; Max-Age=");
  cookie.append(std::to_string(seconds));
  if (is_secure) cookie.append("; Secure");
  return cookie;
}

bool IsOff(const HttpExchange& exchange) {
  if (exchange.loop.options().dashboard) return false;
  exchange.Refuse({.code = ProblemCode::kNotFound});
  return true;
}

}  // namespace

void RunGetSession(HttpExchange& exchange) {
  if (IsOff(exchange)) return;
  exchange.response_options.is_private = true;
  const Access access = CheckBrowserAccess(exchange.services(), exchange.loop.browser_sessions(),
                                           exchange.peer, exchange.loop.options().admin_hosts,
                                           exchange.request, {.least = identity::Role::kViewer});
  const auto session = access.granted
                           ? FindSession(exchange.services(), exchange.loop.browser_sessions(),
                                         exchange.peer, exchange.request)
                           : std::nullopt;
  std::string reason(access.granted ? std::string_view() : access.problem.detail);
  if (!access.granted && NeedsToken(exchange) && !MayLogIn(exchange)) {
    reason = kPlaintextDetail;
  } else if (!access.granted && reason.empty()) {
    reason = KindOf(access.problem.code).meaning;
  }
  exchange.Respond(200).Finish(
      "application/json",
      WriteSession(exchange, access.granted ? access.principal.get() : nullptr, session, reason));
}

void RunBeginSession(HttpExchange& exchange) {
  if (IsOff(exchange)) return;
  exchange.response_options.is_private = true;
  if (IsCrossOrigin(exchange.request)) {
    return exchange.Refuse(
        {.code = ProblemCode::kForbidden, .detail = "a page of another origin can't log in"});
  }
  if (!MayLogIn(exchange)) {
    return exchange.Refuse(
        {.code = ProblemCode::kForbidden, .detail = std::string(kPlaintextDetail)});
  }
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body || !body->Only({"token"})) return exchange.Refuse(problem);
  const auto token = body->Text("token");
  if (!token && !body->failed()) body->Missing("token");
  if (!token) return exchange.Refuse(problem);
  if (!NeedsToken(exchange) && !exchange.admin().authenticator().IsCredential(*token)) {
    return exchange.Refuse({.code = ProblemCode::kForbidden,
                            .detail = "no token is configured, so none is needed: the "
                                      "dashboard answers on loopback only"});
  }
  if (token->size() > BrowserSessions::kMaxTokenBytes) {
    return exchange.Refuse({.code = ProblemCode::kInvalidField,
                            .field = "token",
                            .detail = "is longer than a cookie can hold"});
  }
  const identity::Login login = LogIn(exchange.services(), Protocol::kHttp, exchange.peer, *token);
  if (login.verdict == identity::TokenVerdict::kLimited) {
    exchange.response_options.keep_alive = false;
    return exchange.Refuse({.code = ProblemCode::kTooManyAttempts});
  }
  if (login.verdict != identity::TokenVerdict::kRight) {
    return exchange.Refuse({.code = ProblemCode::kUnauthorized,
                            .detail = "the token is wrong, has expired or was revoked"});
  }
  if (!login.principal->Has(identity::Role::kViewer)) {
    return exchange.Refuse(
        {.code = ProblemCode::kForbidden, .detail = "the token has no role that may see anything"});
  }
  const auto session = BrowserSessions::Begin(*token, exchange.services().now());
  const bool is_secure = UsesHttps(exchange.services(), exchange.peer, exchange.request);
  constexpr auto kSeconds =
      std::chrono::duration_cast<std::chrono::seconds>(BrowserSessions::kLifetime).count();
  wire::HttpResponse response = exchange.Respond(200);
  response.Add("Set-Cookie",
               CookieOf(SessionCookieName(exchange.request, is_secure),
                        exchange.loop.browser_sessions().Seal(session), kSeconds, is_secure));
  response.Finish("application/json", WriteSession(exchange, login.principal.get(), session, {}));
}

void RunEndSession(HttpExchange& exchange) {
  if (IsOff(exchange)) return;
  exchange.response_options.is_private = true;
  if (IsCrossOrigin(exchange.request)) {
    return exchange.Refuse(
        {.code = ProblemCode::kForbidden, .detail = "a page of another origin can't log out"});
  }
  const bool is_secure = UsesHttps(exchange.services(), exchange.peer, exchange.request);
  wire::HttpResponse response = exchange.Respond(204);
  response.Add("Set-Cookie",
               CookieOf(SessionCookieName(exchange.request, is_secure), "", 0, is_secure));
  response.Finish();
}

}  // namespace sluice::api
