#include "api/http/routes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace sluice::api {
namespace {

using enum identity::Role;
using enum RouteUse;
using enum wire::HttpMethod;

constexpr bool kChecksScope = true;

// All routes with parameters begin so: other paths are not compared with them.
constexpr std::array<std::string_view, 2> kPathsWithParameters = {"/admin/v1/", "/dashboard/"};

// The routes beside those of admin/admin.cc, frequent ones first. A path with parameters follows
// those that are more specific.
constexpr std::array kRoutes = std::to_array<HttpRoute>({
    {"/api/v1/rate-limit/check", kGet, kChecker, RunQueryCheck, kChecks, false, "check"},
    {"/api/v1/rate-limit/check", kPost, kChecker, RunBodyCheck, kChecks},
    {"/v1/auth", kAnyMethod, kChecker, RunAuth, kChecks},
    {"/v1/auth/nginx", kAnyMethod, kChecker, RunNginxAuth, kChecks},
    {"/v1/auth/ingress-nginx", kAnyMethod, kChecker, RunIngressNginxAuth, kChecks},
    {kEnvoyAuthPath, kAnyMethod, kChecker, RunEnvoyAuth, kChecks},
    {"/v1/usage", kGet, kChecker, RunUsage, kChecks},
    {"/api/ping", kGet, kChecker, RunPing, kChecks},
    {"/api/v1/rate-limit/remaining", kGet, kChecker, RunRemaining, kChecks},
    {"/api/v1/rate-limit/reset", kDelete, kOperator, RunReset, kChecks},
    {"/api/v1/rate-limit/acquire", kPost, kChecker, RunAcquire, kChecks},
    {"/api/v1/rate-limit/release", kPost, kChecker, RunRelease, kChecks},
    {"/api/v1/rate-limit/renew", kPost, kChecker, RunRenew, kChecks},
    {"/api/v1/rate-limit/settle", kPost, kChecker, RunSettle, kChecks},
    {"/api/v1/rate-limit/cancel", kPost, kChecker, RunCancel, kChecks},
    {"/api/v1/rate-limit/extend", kPost, kChecker, RunExtend, kChecks},
    {"/json", kPost, kChecker, RunEnvoyJson, kChecks},
    {"/healthcheck", kGet, kNone, RunHealthCheck, kOperators},
    {"/livez", kGet, kNone, RunLive, kOperators, false, "live"},
    {"/readyz", kGet, kNone, RunReady, kOperators, false, "ready"},
    {"/version", kGet, kNone, RunVersion, kOperators, false, "version"},
    {"/metrics", kGet, kNone, RunMetrics, kAdminListener, false, "metrics"},
    {"/actuator/prometheus", kGet, kNone, RunMetrics, kAdminListener},
    {"/actuator/health", kGet, kNone, RunHealth, kOperators, false, "health"},
    {"/actuator/info", kGet, kNone, RunInfo, kOperators},
    {"/openapi.json", kGet, kNone, RunOpenApi, kGeneral, false, "openapi"},
    {"/", kGet, kNone, RunIndex},
    {"/dashboard", kGet, kNone, RunDashboardRedirect, kAdminListener},
    {"/dashboard/", kGet, kNone, RunDashboard, kAdminListener, false, "dashboard"},
    {"/dashboard/session", kGet, kNone, RunGetSession, kAdminListener},
    {"/dashboard/session", kPost, kNone, RunBeginSession, kAdminListener},
    {"/dashboard/session", kDelete, kNone, RunEndSession, kAdminListener},
    {"/dashboard/assets/{bundle}/{file}", kGet, kNone, RunDashboardAsset, kAdminListener},
    {"/admin/grant", kPost, kOperator, RunGrant, kChecks},
    {"/admin/inspect", kGet, kViewer, RunInspect, kChecks},
    {"/admin/v1/keys:lookup", kPost, kViewer, RunLookUpKey, kChecks},
    {"/admin/v1/keys", kGet, kViewer, RunListKeys},
    {"/admin/v1/grants", kPost, kOperator, RunGrantUntil, kChecks},
    {"/admin/v1/resets", kPost, kOperator, RunStartReset},
    {"/admin/v1/resets", kGet, kViewer, RunListResets},
    {"/admin/v1/resets/{id}", kGet, kViewer, RunGetReset},
    {"/admin/v1/resets/{id}", kDelete, kOperator, RunCancelReset},
    {"/admin/v1/store", kGet, kViewer, RunGetStore},
    {"/admin/v1/rules", kGet, kViewer, RunGetDocument},
    {"/admin/v1/rules", kPut, kEditor, RunPutDocument, kDocuments},
    {"/admin/v1/rules/versions", kGet, kViewer, RunListVersions},
    {"/admin/v1/rules/versions/{from}...{to}", kGet, kViewer, RunCompareVersions},
    {"/admin/v1/rules/versions/{version}", kGet, kViewer, RunGetVersion},
    {"/admin/v1/rules/versions/{version}/restore", kPost, kEditor, RunRestoreVersion},
    {"/admin/v1/rules/{id}", kPut, kEditor, RunPutRule, kDocuments, kChecksScope},
    {"/admin/v1/rules/{id}", kDelete, kEditor, RunDeleteRule, kGeneral, kChecksScope},
    {"/admin/v1/tiers/{name}", kPut, kEditor, RunPutTier, kDocuments},
    {"/admin/v1/tiers/{name}", kDelete, kEditor, RunDeleteTier},
    {"/admin/v1/enforcement", kGet, kViewer, RunGetFleetEnforcement},
    {"/admin/v1/enforcement", kPut, kEditor, RunPutFleetEnforcement},
    {"/admin/v1/enforcement", kDelete, kEditor, RunDeleteFleetEnforcement},
    {"/admin/v1/entries", kGet, kViewer, RunListEntries},
    {"/admin/v1/entries:batch", kPost, kOperator, RunChangeEntries, kDocuments, kChecksScope},
    {"/admin/v1/entries/{id}", kGet, kViewer, RunGetEntry},
    {"/admin/v1/entries/{id}", kPut, kOperator, RunPutEntry, kGeneral, kChecksScope},
    {"/admin/v1/entries/{id}", kDelete, kOperator, RunDeleteEntry, kGeneral, kChecksScope},
    {"/admin/v1/nodes", kGet, kViewer, RunListNodes},
    {"/admin/v1/audit", kGet, kViewer, RunReadAudit},
    {"/admin/v1/tokens", kGet, kAdmin, RunListTokens},
    {"/admin/v1/tokens", kPost, kAdmin, RunCreateToken},
    {"/admin/v1/tokens/{id}", kDelete, kAdmin, RunRevokeToken},
    {"/admin/v1/whoami", kGet, kViewer, RunWhoAmI},
    {"/admin/v1/traffic", kGet, kOperator, RunGetTraffic},
    {"/admin/v1/top", kGet, kViewer, RunTop},
    {"/admin/v1/denials", kGet, kViewer, RunDenials, kStreams},
    {"/admin/v1/denials/{id}", kGet, kViewer, RunExplainDenial},
    {"/admin/v1/series", kGet, kViewer, RunSeries},
});

std::string_view NameOf(wire::HttpMethod method) {
  switch (method) {
    case kGet:
      return "GET, HEAD";
    case kPost:
      return "POST";
    case kPut:
      return "PUT";
    case kDelete:
      return "DELETE";
    default:
      return "";
  }
}

struct TakenParameter {
  std::string_view name;
  std::string_view value;
};
// Takes the next parameter of a pattern such as "/a/{x}/b" from the front of both; the text before
// it must be equal. Nothing, and neither is changed: there is none, or the path does not match.
std::optional<TakenParameter> TakeParameter(std::string_view& pattern, std::string_view& path) {
  const auto open = pattern.find('{');
  if (open == std::string_view::npos || !path.starts_with(pattern.substr(0, open))) {
    return std::nullopt;
  }
  const auto close = pattern.find('}', open);
  const std::string_view next = pattern.substr(close + 1);
  // Up to the pattern's next text, or to the end.
  const std::string_view end = next.substr(0, next.find('{'));
  const std::string_view rest = path.substr(open);
  const std::string_view value = rest.substr(0, end.empty() ? rest.size() : rest.find(end));
  if (value.empty() || value.find('/') != std::string_view::npos) return std::nullopt;
  const std::string_view name = pattern.substr(open + 1, close - open - 1);
  pattern = next;
  path = rest.substr(value.size());
  return TakenParameter{.name = name, .value = value};
}

// Whether a path matches a pattern, whose '{' no path has.
bool Matches(std::string_view pattern, std::string_view path) {
  while (TakeParameter(pattern, path)) {
  }
  return pattern == path && pattern.find('{') == std::string_view::npos;
}

// Returns the first of the routes and those after it with the same path.
std::span<const HttpRoute> WithSamePath(std::span<const HttpRoute> routes) {
  std::size_t count = 1;
  while (count < routes.size() && routes[count].path == routes.front().path) ++count;
  return routes.first(count);
}

}  // namespace

std::span<const HttpRoute> HttpRoutes() {
  static const std::vector<HttpRoute> all = [] {
    std::vector<HttpRoute> routes(kRoutes.begin(), kRoutes.end());
    routes.insert(routes.end(), AdminRoutes().begin(), AdminRoutes().end());
    return routes;
  }();
  return all;
}

namespace {

std::span<const HttpRoute> FindAll(std::string_view path) {
  if (path.starts_with(kEnvoyAuthPath) && path.size() > kEnvoyAuthPath.size() &&
      path[kEnvoyAuthPath.size()] == '/') {
    path = kEnvoyAuthPath;
  }
  const std::span<const HttpRoute> routes = HttpRoutes();
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].path == path) return WithSamePath(routes.subspan(i));
  }
  if (std::none_of(kPathsWithParameters.begin(), kPathsWithParameters.end(),
                   [path](std::string_view prefix) { return path.starts_with(prefix); })) {
    return {};
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].path.find('{') != std::string_view::npos && Matches(routes[i].path, path)) {
      return WithSamePath(routes.subspan(i));
    }
  }
  return {};
}

}  // namespace

std::span<const HttpRoute> FindHttpRoutes(std::string_view path, HttpSurface surface) {
  const std::span<const HttpRoute> routes = FindAll(path);
  if (!routes.empty() && !routes.front().IsServedOn(surface)) return {};
  return routes;
}

std::string_view PathParameter(const HttpRoute& route, std::string_view path,
                               std::string_view name) {
  std::string_view pattern = route.path;
  while (const auto taken = TakeParameter(pattern, path)) {
    if (taken->name == name) return taken->value;
  }
  return {};
}

const HttpRoute* FindMethod(std::span<const HttpRoute> routes, wire::HttpMethod method) {
  if (method == kHead) method = kGet;
  for (const HttpRoute& route : routes) {
    if (route.method == method || route.method == kAnyMethod) return &route;
  }
  return nullptr;
}

std::string AllowedMethods(std::span<const HttpRoute> routes) {
  std::string allowed;
  for (const HttpRoute& route : routes) {
    allowed.append(NameOf(route.method)).append(", ");
  }
  return allowed + "OPTIONS";
}

}  // namespace sluice::api
