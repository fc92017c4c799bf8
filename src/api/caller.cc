#include "api/caller.h"

#include "api/call_fields.h"
#include "api/http_loop.h"
#include "base/url_path.h"
#include "identity/credentials.h"
#include "identity/identifier.h"

namespace sluice::api {
namespace {

using limiter::Question;

// What trusted proxies say of a call in headers of their own. False: one of them makes no sense.
bool AddProxyHeaders(HttpExchange& exchange, const identity::Headers& headers, Reader reader,
                     Question& question) {
  if (!exchange.host().identifier().proxies().TrustsPeer(exchange.peer.ip)) return true;
  for (const ProxyHeader& one : exchange.loop.options().proxy_headers) {
    const identity::Credential said = identity::FindHeader(headers, one.header);
    if (said.status == identity::Credential::Status::kAbsent) continue;
    // The proxy has added its own to what its client sent.
    if (said.status == identity::Credential::Status::kSeveral) {
      RefuseCaller(
          exchange, reader,
          {.code = ProblemCode::kInvalidParameter,
           .field = one.header,
           .detail = "is there several times: the proxy must replace what its client sent"});
      return false;
    }
    if (one.attribute != "cost") {
      question.Add(one.attribute, said.value);
      continue;
    }
    const auto cost = ParseCost(said.value);
    if (!cost) {
      RefuseCaller(exchange, reader, BadCost(one.header, said.value));
      return false;
    }
    question.cost = *cost;
  }
  return true;
}

}  // namespace

HttpCall* BeginCall(HttpExchange& exchange, Reader reader, const CallTarget& target,
                    void (*answer)(HttpCall& call, std::string& out)) {
  identity::Caller& caller = exchange.loop.caller();
  const identity::HeaderSpan<wire::HttpHeader> headers(exchange.request.headers);
  const identity::Outcome outcome = exchange.host().identifier().Identify(
      {.peer = exchange.peer.ip, .headers = headers, .query = target.query}, exchange.host().now(),
      caller);
  if (outcome != identity::Outcome::kKnown) {
    const bool is_token = outcome == identity::Outcome::kBadToken;
    RefuseCaller(exchange, reader,
                 {.code = is_token ? ProblemCode::kInvalidToken : ProblemCode::kInvalidKey,
                  .detail = std::string(caller.problem())});
    return nullptr;
  }
  HttpCall& call = exchange.MakeCall(answer);
  call.wants_problem = AsksForProblems(exchange.request);
  Question& question = call.Add().question;
  AddCertificate(exchange.peer, question);
  if (!AddProxyHeaders(exchange, headers, reader, question)) {
    exchange.loop.GiveBack(std::move(exchange.call));
    return nullptr;
  }
  for (const Attribute& one : caller.attributes()) question.Add(one.name, one.value);
  question.Add("endpoint", NormalizePath(target.path, exchange.loop.Room(target.path.size())));
  question.Add("method", target.method);
  if (!target.host.empty()) question.Add("host", target.host);
  return &call;
}

}  // namespace sluice::api
