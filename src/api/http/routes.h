#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/http/exchange.h"
#include "identity/principal.h"
#include "wire/http_request.h"

namespace sluice::api {

using identity::Role;

/// For routes that answer every method, OPTIONS too.
inline constexpr wire::HttpMethod kAnyMethod = wire::HttpMethod::kOther;

/// Prefix of the path of the call to be decided.
inline constexpr std::string_view kEnvoyAuthPath = "/v1/auth/envoy";

enum class RouteUse : std::uint8_t {
  kGeneral,
  kChecks,         ///< Makes a call of checks, which can be decided together with those around it.
  kOperators,      ///< Answered on reserved connections; so is all for administrators.
  kStreams,        ///< Its response may go on for as long as the client stays.
  kAdminListener,  ///< As kOperators, and moves to the admin listener: metrics, the dashboard.
  kDocuments,      ///< Takes a rule document or a part of one: a large body, as YAML or JSON.
};

/// The listener of a connection.
enum class HttpSurface : std::uint8_t {
  kAll,     ///< There is no listener of administrators' own.
  kPublic,  ///< There is one, and this is not it.
  kAdmin,
};

/// One method of one path.
struct HttpRoute {
  /// With parameters as in "/admin/v1/rules/{id}": each is a part of a segment, at least one byte.
  std::string_view path;
  wire::HttpMethod method;  ///< kGet answers HEAD, too.
  /// The least role that a caller needs. kChecker: only if the server requires tokens of checks.
  Role role;
  void (*run)(HttpExchange& exchange);
  RouteUse use = RouteUse::kGeneral;
  /// Whether the handler checks the scope of the caller's token itself. Unless it does, a token
  /// with a scope can't use a route that changes something.
  bool checks_scope = false;
  std::string_view index_name{};  ///< Its name in the index at "/"; empty: not listed.

  /// Whether it changes something: only an operator may, and it is logged with its author.
  [[nodiscard]] constexpr bool is_change() const {
    return role >= Role::kOperator && method != wire::HttpMethod::kGet;
  }
  /// Whether a token with a scope can't use it: it changes more than rules in a scope.
  [[nodiscard]] constexpr bool needs_whole_scope() const { return is_change() && !checks_scope; }
  /// Whether a listener serves it: what administrators use is only on their own if they have one,
  /// checks are only on the other, and the rest is on both.
  [[nodiscard]] constexpr bool IsServedOn(HttpSurface surface) const {
    if (surface == HttpSurface::kAll) return true;
    const bool is_admin = is_administrative() || use == RouteUse::kAdminListener;
    if (surface == HttpSurface::kPublic) return !is_admin;
    return is_admin || role == Role::kNone;
  }
  /// Whether it is answered on reserved connections.
  [[nodiscard]] constexpr bool is_for_operators() const {
    return use == RouteUse::kOperators || use == RouteUse::kAdminListener || is_administrative();
  }
  /// Whether it is for administrators, of whatever role.
  [[nodiscard]] constexpr bool is_administrative() const { return role > Role::kChecker; }
};

/// All of them; those of one path are neighbours.
[[nodiscard]] std::span<const HttpRoute> HttpRoutes();

/// The rows of admin/admin.cc, which declares and implements its routes by itself.
[[nodiscard]] std::span<const HttpRoute> AdminRoutes();

/// The routes of a path that a listener serves; empty if there are none. A path without parameters
/// comes first. All methods of a path are served by the same listeners.
[[nodiscard]] std::span<const HttpRoute> FindHttpRoutes(std::string_view path,
                                                        HttpSurface surface = HttpSurface::kAll);

/// Returns a parameter of a path that the route's path matches, not decoded.
[[nodiscard]] std::string_view PathParameter(const HttpRoute& route, std::string_view path,
                                             std::string_view name);

/// Null: the path has no such method.
[[nodiscard]] const HttpRoute* FindMethod(std::span<const HttpRoute> routes,
                                          wire::HttpMethod method);

/// "GET, HEAD, OPTIONS"
[[nodiscard]] std::string AllowedMethods(std::span<const HttpRoute> routes);

// ---- The routes, by the file that they are in.

// query_check.cc
void RunQueryCheck(HttpExchange& exchange);
void RunRemaining(HttpExchange& exchange);
void RunReset(HttpExchange& exchange);
void RunInspect(HttpExchange& exchange);
// body_check.cc
void RunBodyCheck(HttpExchange& exchange);
void RunGrant(HttpExchange& exchange);
// slots.cc
void RunAcquire(HttpExchange& exchange);
void RunRelease(HttpExchange& exchange);
void RunRenew(HttpExchange& exchange);
// settlement.cc
void RunSettle(HttpExchange& exchange);
void RunCancel(HttpExchange& exchange);
void RunExtend(HttpExchange& exchange);
// forward_auth.cc
void RunAuth(HttpExchange& exchange);
void RunNginxAuth(HttpExchange& exchange);
void RunIngressNginxAuth(HttpExchange& exchange);
void RunEnvoyAuth(HttpExchange& exchange);
// envoy_json.cc
void RunEnvoyJson(HttpExchange& exchange);
void RunHealthCheck(HttpExchange& exchange);
// usage.cc
void RunUsage(HttpExchange& exchange);
// ping.cc
void RunPing(HttpExchange& exchange);
// about.cc
void RunLive(HttpExchange& exchange);
void RunReady(HttpExchange& exchange);
void RunVersion(HttpExchange& exchange);
void RunMetrics(HttpExchange& exchange);
void RunHealth(HttpExchange& exchange);
void RunInfo(HttpExchange& exchange);
void RunOpenApi(HttpExchange& exchange);
void RunIndex(HttpExchange& exchange);
// dashboard.cc
void RunDashboardRedirect(HttpExchange& exchange);
void RunDashboard(HttpExchange& exchange);
void RunDashboardAsset(HttpExchange& exchange);
// admin/session_route.cc
void RunGetSession(HttpExchange& exchange);
void RunBeginSession(HttpExchange& exchange);
void RunEndSession(HttpExchange& exchange);
// admin/rules_v1.cc
void RunGetDocument(HttpExchange& exchange);
void RunPutDocument(HttpExchange& exchange);
void RunPutRule(HttpExchange& exchange);
void RunDeleteRule(HttpExchange& exchange);
void RunPutTier(HttpExchange& exchange);
void RunDeleteTier(HttpExchange& exchange);
// admin/versions.cc
void RunListVersions(HttpExchange& exchange);
void RunGetVersion(HttpExchange& exchange);
void RunCompareVersions(HttpExchange& exchange);
void RunRestoreVersion(HttpExchange& exchange);
// admin/fleet_enforcement.cc
void RunGetFleetEnforcement(HttpExchange& exchange);
void RunPutFleetEnforcement(HttpExchange& exchange);
void RunDeleteFleetEnforcement(HttpExchange& exchange);
// admin/entries.cc
void RunListEntries(HttpExchange& exchange);
void RunChangeEntries(HttpExchange& exchange);
void RunGetEntry(HttpExchange& exchange);
void RunPutEntry(HttpExchange& exchange);
void RunDeleteEntry(HttpExchange& exchange);
// admin/nodes.cc
void RunListNodes(HttpExchange& exchange);
// admin/audit.cc
void RunReadAudit(HttpExchange& exchange);
// admin/key_lookup.cc
void RunLookUpKey(HttpExchange& exchange);
// admin/grants.cc
void RunGrantUntil(HttpExchange& exchange);
// admin/keys.cc
void RunListKeys(HttpExchange& exchange);
// admin/resets.cc
void RunStartReset(HttpExchange& exchange);
void RunListResets(HttpExchange& exchange);
void RunGetReset(HttpExchange& exchange);
void RunCancelReset(HttpExchange& exchange);
// admin/store_report.cc
void RunGetStore(HttpExchange& exchange);
// admin/tokens.cc
void RunCreateToken(HttpExchange& exchange);
void RunListTokens(HttpExchange& exchange);
void RunRevokeToken(HttpExchange& exchange);
void RunWhoAmI(HttpExchange& exchange);
// admin/insight.cc
void RunTop(HttpExchange& exchange);
void RunSeries(HttpExchange& exchange);
void RunExplainDenial(HttpExchange& exchange);
// admin/denials.cc
void RunDenials(HttpExchange& exchange);
// admin/traffic.cc
void RunGetTraffic(HttpExchange& exchange);

}  // namespace sluice::api
