#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/http_exchange.h"
#include "wire/http_request.h"

namespace sluice::api {

/// For routes that answer every method, OPTIONS too.
inline constexpr wire::HttpMethod kAnyMethod = wire::HttpMethod::kOther;

/// What follows it is the path of the call that is asked about.
inline constexpr std::string_view kEnvoyAuthPath = "/v1/auth/envoy";

/// One method of one path.
struct HttpRoute {
  std::string_view path;
  wire::HttpMethod method;  ///< kGet answers HEAD, too.
  bool for_administrators;
  void (*run)(HttpExchange& exchange);
};

/// All of them; those of one path are neighbours.
[[nodiscard]] std::span<const HttpRoute> HttpRoutes();

/// The routes of a path; empty if there are none.
[[nodiscard]] std::span<const HttpRoute> FindHttpRoutes(std::string_view path);

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
// forward_auth.cc
void RunAuth(HttpExchange& exchange);
void RunNginxAuth(HttpExchange& exchange);
void RunIngressNginxAuth(HttpExchange& exchange);
void RunEnvoyAuth(HttpExchange& exchange);
// envoy_json.cc
void RunEnvoyJson(HttpExchange& exchange);
void RunHealthCheck(HttpExchange& exchange);
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
// admin.cc
void RunRules(HttpExchange& exchange);
void RunReload(HttpExchange& exchange);
void RunRollback(HttpExchange& exchange);
void RunGetEnforcement(HttpExchange& exchange);
void RunSetEnforcement(HttpExchange& exchange);
void RunGetLogLevel(HttpExchange& exchange);
void RunSetLogLevel(HttpExchange& exchange);

}  // namespace sluice::api
