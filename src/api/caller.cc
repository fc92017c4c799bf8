#include "api/caller.h"

#include "api/http/call_fields.h"
#include "api/http/loop.h"
#include "base/url_path.h"
#include "identity/credentials.h"
#include "identity/identifier.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;

// Adds attributes from headers of trusted proxies. False: one of them is invalid.
bool AddProxyHeaders(HttpExchange& exchange, const identity::Headers& headers, Reader reader,
                     CheckRequest& check) {
  if (!exchange.services().identifier().proxies().TrustsPeer(exchange.peer.ip)) return true;
  for (const ProxyHeader& one : exchange.loop.options().proxy_headers) {
    const identity::Credential said = identity::FindHeader(headers, one.header);
    if (said.status == identity::Credential::Status::kAbsent) continue;
    // The proxy has added its own to what its client sent.
    if (said.status == identity::Credential::Status::kSeveral) {
      RefuseCaller(
          exchange, reader,
          {.code = ProblemCode::kInvalidParameter,
           .field = one.header,
           .detail = "occurs several times: the proxy must replace the value of its client"});
      return false;
    }
    if (one.attribute != "cost") {
      check.Add(one.attribute, said.value);
      continue;
    }
    const auto cost = ParseCost(said.value);
    if (!cost) {
      RefuseCaller(exchange, reader, BadCost(one.header, said.value));
      return false;
    }
    check.cost = *cost;
  }
  return true;
}

}  // namespace

HttpCall* BeginCall(HttpExchange& exchange, Reader reader, const CallTarget& target,
                    void (*answer)(HttpCall& call, std::string& out)) {
  identity::Caller& caller = exchange.loop.caller();
  const identity::HeaderSpan<wire::HttpHeader> headers(exchange.request.headers);
  const identity::Outcome outcome = exchange.services().identifier().Identify(
      {.peer = exchange.peer.ip, .headers = headers, .query = target.query},
      exchange.services().now(), caller);
  if (outcome != identity::Outcome::kKnown) {
    const bool is_token = outcome == identity::Outcome::kBadToken;
    RefuseCaller(exchange, reader,
                 {.code = is_token ? ProblemCode::kInvalidToken : ProblemCode::kInvalidKey,
                  .detail = std::string(caller.problem())});
    return nullptr;
  }
  HttpCall& call = exchange.MakeCall(answer);
  call.wants_problem = AsksForProblems(exchange.request);
  CheckRequest& check = call.Add().check;
  AddCertificate(exchange.peer, check);
  if (!AddProxyHeaders(exchange, headers, reader, check)) {
    exchange.loop.GiveBack(std::move(exchange.call));
    return nullptr;
  }
  for (const Attribute& one : caller.attributes()) check.Add(one.name, one.value);
  if (!target.path.empty()) {
    check.Add("endpoint", NormalizePath(target.path, exchange.loop.Room(target.path.size()),
                                        exchange.loop.options().fold_paths));
  }
  if (!target.method.empty()) check.Add("method", target.method);
  if (!target.host.empty()) check.Add("host", target.host);
  return &call;
}

}  // namespace sluice::api
