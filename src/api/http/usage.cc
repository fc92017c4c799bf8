#include <string>
#include <string_view>

#include "algo/algorithm_info.h"
#include "answer/http_answer.h"
#include "api/caller.h"
#include "api/http/call_fields.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/url.h"
#include "limiter/decision.h"

/// The remaining quota of a caller: /v1/usage.
namespace sluice::api {
namespace {

using limiter::CheckRequest;

void AppendLimit(const CheckRequest& check, std::size_t i, JsonWriter& json) {
  const store::KeyUse& use = check.uses()[i];
  const match::MatchedLimit& matched = check.matched(i);
  const bool rejects = matched.limit->reject_all;
  json.BeginObject();
  json.Key("rule").String(matched.rule->id);
  json.Key("name").String(matched.limit->name);
  json.Key("type").String(matched.limit->type);
  json.Key("limit").Int(rejects ? 0 : use.verdict.limit);
  json.Key("remaining").Int(rejects ? 0 : use.verdict.remaining);
  json.Key("resetAfterSeconds").Int(rejects ? 0 : SecondsOf(use.verdict.reset_after));
  json.EndObject();
}

void AnswerUsage(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  const CheckRequest& check = call.part(0).check;
  wire::HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  response.Add("Cache-Control", "no-store");
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject().Key("limits").BeginArray();
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    if (limiter::IsReported(check, i)) AppendLimit(check, i, json);
  }
  json.EndArray().EndObject();
  response.EndBody();
}

}  // namespace

void RunUsage(HttpExchange& exchange) {
  const std::string_view query = exchange.request.query;
  std::string endpoint;
  std::string method;
  QueryParameters parameter(query, exchange.loop.Room(query.size()));
  while (parameter.Next()) {
    if (parameter.name() == "endpoint") endpoint = parameter.value();
    if (parameter.name() == "method") method = parameter.value();
  }
  if (parameter.failed()) {
    return exchange.Refuse({.code = ProblemCode::kInvalidParameter,
                            .field = std::string(parameter.error()),
                            .detail = "a % is followed by two hexadecimal digits"});
  }
  HttpCall* const call =
      BeginCall(exchange, Reader::kCaller,
                {.method = method, .path = endpoint, .query = query, .host = exchange.request.host},
                AnswerUsage);
  if (call != nullptr) call->part(0).check.operation = store::Operation::kInspect;
}

}  // namespace sluice::api
