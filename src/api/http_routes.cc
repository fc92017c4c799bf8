#include "api/http_routes.h"

#include <array>

namespace sluice::api {
namespace {

using enum wire::HttpMethod;

// What is asked most comes first.
constexpr std::array kRoutes = std::to_array<HttpRoute>({
    {"/api/v1/rate-limit/check", kGet, false, RunQueryCheck},
    {"/api/v1/rate-limit/check", kPost, false, RunBodyCheck},
    {"/v1/auth", kAnyMethod, false, RunAuth},
    {"/v1/auth/nginx", kAnyMethod, false, RunNginxAuth},
    {"/v1/auth/ingress-nginx", kAnyMethod, false, RunIngressNginxAuth},
    {kEnvoyAuthPath, kAnyMethod, false, RunEnvoyAuth},
    {"/api/ping", kGet, false, RunPing},
    {"/api/v1/rate-limit/remaining", kGet, false, RunRemaining},
    {"/api/v1/rate-limit/reset", kDelete, true, RunReset},
    {"/api/v1/rate-limit/acquire", kPost, false, RunAcquire},
    {"/api/v1/rate-limit/release", kPost, false, RunRelease},
    {"/api/v1/rate-limit/renew", kPost, false, RunRenew},
    {"/api/v1/rate-limit/settle", kPost, false, RunSettle},
    {"/api/v1/rate-limit/cancel", kPost, false, RunCancel},
    {"/json", kPost, false, RunEnvoyJson},
    {"/healthcheck", kGet, false, RunHealthCheck},
    {"/livez", kGet, false, RunLive},
    {"/readyz", kGet, false, RunReady},
    {"/version", kGet, false, RunVersion},
    {"/metrics", kGet, false, RunMetrics},
    {"/actuator/prometheus", kGet, false, RunMetrics},
    {"/actuator/health", kGet, false, RunHealth},
    {"/actuator/info", kGet, false, RunInfo},
    {"/openapi.json", kGet, false, RunOpenApi},
    {"/admin/rules", kGet, true, RunRules},
    {"/admin/rules/reload", kPost, true, RunReload},
    {"/admin/rules/rollback", kPost, true, RunRollback},
    {"/admin/enforcement", kGet, true, RunGetEnforcement},
    {"/admin/enforcement", kPut, true, RunSetEnforcement},
    {"/admin/log-level", kGet, true, RunGetLogLevel},
    {"/admin/log-level", kPut, true, RunSetLogLevel},
    {"/admin/grant", kPost, true, RunGrant},
    {"/admin/inspect", kGet, true, RunInspect},
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

}  // namespace

std::span<const HttpRoute> HttpRoutes() { return kRoutes; }

std::span<const HttpRoute> FindHttpRoutes(std::string_view path) {
  if (path.starts_with(kEnvoyAuthPath) && path.size() > kEnvoyAuthPath.size() &&
      path[kEnvoyAuthPath.size()] == '/') {
    path = kEnvoyAuthPath;
  }
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    if (kRoutes[i].path != path) continue;
    std::size_t count = 1;
    while (i + count < kRoutes.size() && kRoutes[i + count].path == path) ++count;
    return std::span(kRoutes).subspan(i, count);
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
