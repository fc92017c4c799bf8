#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/http/exchange.h"

namespace sluice::api {

inline constexpr std::string_view kDenialIdHeader = "X-RateLimit-Denial-Id";

/// The recipient of an answer about the caller.
enum class Reader : std::uint8_t {
  kCaller,  ///< The caller itself.
  kProxy,   ///< A proxy, which relays a denial as it is.
  kNginx,   ///< nginx's auth_request, which can relay no status but 403.
};

/// Answers a call with one check: 200 with `body` if it passes, else the denial. What a proxy
/// gets has the true status in X-Sluice-Status, too.
void AnswerCaller(HttpCall& call, Reader reader, std::string_view body, std::string& out);

/// Answers a request that makes no call.
void RefuseCaller(const HttpExchange& exchange, Reader reader, const Problem& problem);

/// Whether the client prefers application/problem+json.
[[nodiscard]] bool AsksForProblems(const wire::HttpRequest& request);

}  // namespace sluice::api
