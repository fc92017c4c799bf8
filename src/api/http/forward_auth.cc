#include <optional>
#include <string>
#include <string_view>

#include "api/caller.h"
#include "api/http/routes.h"
#include "base/url.h"

/// Proxies that ask whether a call that they hold may pass. docs/proxies.md has who asks how.
namespace sluice::api {
namespace {

using wire::HttpRequest;

/// The headers in which a kind of proxy describes a call. One kind, and never whichever is there:
/// what a proxy does not set itself, it passes on from its client.
struct ProxyHeaders {
  std::string_view method;
  std::string_view uri;
  std::string_view host;  ///< Empty: it is in the URI.
};

constexpr ProxyHeaders kForwarded{"X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host"};
constexpr ProxyHeaders kOriginal{"X-Original-Method", "X-Original-URL", ""};

// Nothing: it is not there just once.
std::optional<std::string_view> OnlyOne(const HttpRequest& request, std::string_view name) {
  std::optional<std::string_view> found;
  for (const wire::HttpHeader& header : request.headers) {
    if (!EqualIgnoringCase(header.name, name)) continue;
    if (found) return std::nullopt;
    found = header.value;
  }
  return found;
}

void Refuse(HttpExchange& exchange, Reader reader, std::string_view header) {
  RefuseCaller(exchange, reader,
               {.code = ProblemCode::kInvalidParameter,
                .field = std::string(header),
                .detail = "the proxy must send it exactly once, for its client's request"});
}

std::optional<CallTarget> ReadTarget(HttpExchange& exchange, Reader reader,
                                     const ProxyHeaders& names) {
  const auto method = OnlyOne(exchange.request, names.method);
  const auto uri = OnlyOne(exchange.request, names.uri);
  if (!method || method->empty()) {
    Refuse(exchange, reader, names.method);
    return std::nullopt;
  }
  const RequestTarget asked = SplitTarget(uri.value_or(""));
  if (!asked.path.starts_with('/')) {
    Refuse(exchange, reader, names.uri);
    return std::nullopt;
  }
  std::string_view host = asked.host;
  if (!names.host.empty()) {
    const auto said = OnlyOne(exchange.request, names.host);
    const bool is_there = exchange.request.Find(names.host) != nullptr;
    // Of several hosts it is unknown which one the client has called.
    if (is_there && (!said || said->find(',') != std::string_view::npos)) {
      Refuse(exchange, reader, names.host);
      return std::nullopt;
    }
    host = said.value_or("");
  }
  return CallTarget{.method = *method, .path = asked.path, .query = asked.query, .host = host};
}

constexpr std::string_view kAllowed = R"({"allowed":true})";

void AnswerProxy(HttpCall& call, std::string& out) {
  AnswerCaller(call, Reader::kProxy, kAllowed, out);
}

void AnswerNginx(HttpCall& call, std::string& out) {
  AnswerCaller(call, Reader::kNginx, kAllowed, out);
}

}  // namespace

void RunAuth(HttpExchange& exchange) {
  const auto target = ReadTarget(exchange, Reader::kProxy, kForwarded);
  if (target) BeginCall(exchange, Reader::kProxy, *target, AnswerProxy);
}

void RunNginxAuth(HttpExchange& exchange) {
  const auto target = ReadTarget(exchange, Reader::kNginx, kForwarded);
  if (target) BeginCall(exchange, Reader::kNginx, *target, AnswerNginx);
}

void RunIngressNginxAuth(HttpExchange& exchange) {
  const auto target = ReadTarget(exchange, Reader::kNginx, kOriginal);
  if (target) BeginCall(exchange, Reader::kNginx, *target, AnswerNginx);
}

// Envoy asks with the method and the path of the call itself, behind a prefix.
void RunEnvoyAuth(HttpExchange& exchange) {
  const HttpRequest& request = exchange.request;
  std::string_view path = request.path.substr(kEnvoyAuthPath.size());
  if (path.empty()) path = "/";
  BeginCall(exchange, Reader::kProxy,
            {.method = request.method, .path = path, .query = request.query, .host = request.host},
            AnswerProxy);
}

}  // namespace sluice::api
