#include "api/http/routes.h"

#include <array>
#include <optional>
#include <vector>

namespace sluice::api {
namespace {

using enum identity::Role;
using enum RouteUse;
using enum wire::HttpMethod;

// All routes with parameters begin so: other paths are not compared with them.
constexpr std::string_view kPathsWithParameters = "/admin/v1/";

// The routes beside those of admin/admin.cc, frequent ones first. A path with parameters follows
// those that are more specific.
constexpr std::array kRoutes = std::to_array<HttpRoute>({
    {"/api/v1/rate-limit/check", kGet, kChecker, RunQueryCheck, kChecks, "check"},
    {"/api/v1/rate-limit/check", kPost, kChecker, RunBodyCheck, kChecks},
    {"/v1/auth", kAnyMethod, kChecker, RunAuth, kChecks},
    {"/v1/auth/nginx", kAnyMethod, kChecker, RunNginxAuth, kChecks},
    {"/v1/auth/ingress-nginx", kAnyMethod, kChecker, RunIngressNginxAuth, kChecks},
    {kEnvoyAuthPath, kAnyMethod, kChecker, RunEnvoyAuth, kChecks},
    {"/api/ping", kGet, kChecker, RunPing, kChecks},
    {"/api/v1/rate-limit/remaining", kGet, kChecker, RunRemaining, kChecks},
    {"/api/v1/rate-limit/reset", kDelete, kOperator, RunReset, kChecks},
    {"/api/v1/rate-limit/acquire", kPost, kChecker, RunAcquire, kChecks},
    {"/api/v1/rate-limit/release", kPost, kChecker, RunRelease, kChecks},
    {"/api/v1/rate-limit/renew", kPost, kChecker, RunRenew, kChecks},
    {"/api/v1/rate-limit/settle", kPost, kChecker, RunSettle, kChecks},
    {"/api/v1/rate-limit/cancel", kPost, kChecker, RunCancel, kChecks},
    {"/json", kPost, kChecker, RunEnvoyJson, kChecks},
    {"/healthcheck", kGet, kNone, RunHealthCheck, kOperators},
    {"/livez", kGet, kNone, RunLive, kOperators, "live"},
    {"/readyz", kGet, kNone, RunReady, kOperators, "ready"},
    {"/version", kGet, kNone, RunVersion, kOperators, "version"},
    {"/metrics", kGet, kNone, RunMetrics, kOperators, "metrics"},
    {"/actuator/prometheus", kGet, kNone, RunMetrics, kOperators},
    {"/actuator/health", kGet, kNone, RunHealth, kOperators, "health"},
    {"/actuator/info", kGet, kNone, RunInfo, kOperators},
    {"/openapi.json", kGet, kNone, RunOpenApi, kGeneral, "openapi"},
    {"/", kGet, kNone, RunIndex},
    {"/admin/grant", kPost, kOperator, RunGrant, kChecks},
    {"/admin/inspect", kGet, kViewer, RunInspect, kChecks},
    {"/admin/v1/rules", kGet, kViewer, RunGetDocument},
    {"/admin/v1/rules", kPut, kEditor, RunPutDocument, kDocuments},
    {"/admin/v1/rules/versions", kGet, kViewer, RunListVersions},
    {"/admin/v1/rules/versions/{from}...{to}", kGet, kViewer, RunCompareVersions},
    {"/admin/v1/rules/versions/{version}", kGet, kViewer, RunGetVersion},
    {"/admin/v1/rules/versions/{version}/restore", kPost, kEditor, RunRestoreVersion},
    {"/admin/v1/rules/{id}", kPut, kEditor, RunPutRule, kDocuments},
    {"/admin/v1/rules/{id}", kDelete, kEditor, RunDeleteRule},
    {"/admin/v1/tiers/{name}", kPut, kEditor, RunPutTier, kDocuments},
    {"/admin/v1/tiers/{name}", kDelete, kEditor, RunDeleteTier},
    {"/admin/v1/nodes", kGet, kViewer, RunListNodes},
    {"/admin/v1/audit", kGet, kViewer, RunReadAudit},
    {"/admin/v1/traffic", kGet, kOperator, RunGetTraffic},
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

std::span<const HttpRoute> FindHttpRoutes(std::string_view path) {
  if (path.starts_with(kEnvoyAuthPath) && path.size() > kEnvoyAuthPath.size() &&
      path[kEnvoyAuthPath.size()] == '/') {
    path = kEnvoyAuthPath;
  }
  const std::span<const HttpRoute> routes = HttpRoutes();
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].path == path) return WithSamePath(routes.subspan(i));
  }
  if (!path.starts_with(kPathsWithParameters)) return {};
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].path.find('{') != std::string_view::npos && Matches(routes[i].path, path)) {
      return WithSamePath(routes.subspan(i));
    }
  }
  return {};
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
