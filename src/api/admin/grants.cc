#include <optional>
#include <string>

#include "answer/refusal_text.h"
#include "api/admin/audit_trail.h"
#include "api/admin/key_json.h"
#include "api/http/call_fields.h"
#include "api/http/check_body.h"
#include "api/http/json_body.h"
#include "api/http/loop.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/timestamp.h"

/// Grants, which may expire: /admin/v1/grants.
namespace sluice::api {
namespace {

using limiter::CheckRequest;

void AnswerGrants(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  const CheckRequest& check = call.part(0).check;
  const auto respond = [&](int status) {
    return wire::HttpResponse(out, status, call.loop.services().http_date(), call.response_options);
  };
  if (check.uses().empty()) {
    NothingGranted nothing = WhyNothingGranted(check);
    if (!check.only_rule.empty()) {
      nothing = {.met_limits = false,
                 .why = "the caller matches no limit of rule '" + check.only_rule +
                        "' that can be granted to"};
    }
    const ProblemCode code =
        nothing.met_limits ? ProblemCode::kNotSupported : ProblemCode::kNoLimit;
    wire::HttpResponse refusal = respond(KindOf(code).status);
    return FinishWithProblem({.code = code, .detail = nothing.why}, refusal);
  }
  wire::HttpResponse response = respond(200);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  json.Key("granted").Int(call.amount);
  json.Key("limits").BeginArray();
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const store::KeyUse& use = check.uses()[i];
    json.BeginObject();
    json.Key("rule").String(check.matched(i).rule->id);
    json.Key("name").String(check.matched(i).limit->name);
    json.Key("remaining").Int(use.verdict.remaining);
    json.Key("expires_at");
    const WallTime expires = use.receipt.grant_expires;
    AppendTimeOrNull(
        check.grant_expires == WallTime{} ? std::nullopt : std::optional<WallTime>(expires), json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  response.EndBody();
}

// Null: it never expires.
bool ReadGrantExpiry(JsonFields& body, WallTime now, CheckRequest& check) {
  const auto value = body.object().Find("expires_at");
  if (!value || value->is_null()) return true;
  const auto text = body.Text("expires_at");
  if (!text) return false;
  const auto expires = ParseTimestamp(*text);
  if (!expires || *expires <= now) {
    return body.Fail(ProblemCode::kInvalidField, "expires_at",
                     "must be a time to come, such as 2026-12-01T00:00:00Z, or null");
  }
  check.grant_expires = *expires;
  return true;
}

bool ReadGrant(HttpExchange& exchange, JsonFields& body, HttpCall& call) {
  HttpCall::Part& part = call.Add();
  part.check.operation = store::Operation::kGrant;
  if (!body.Only({"attributes", "key", "rule", "amount", "expires_at"})) return false;
  const auto amount = body.Whole("amount", 1, kMaxAmount, ProblemCode::kInvalidTokenCost);
  if (!amount) return body.failed() ? false : body.Missing("amount");
  call.amount = part.check.cost = *amount;
  if (const auto rule = body.Text("rule")) part.check.only_rule = *rule;
  return !body.failed() && ReadGrantExpiry(body, exchange.services().now(), part.check) &&
         ReadCaller(exchange, body, part);
}

}  // namespace

void RunGrantUntil(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  HttpCall& call = exchange.MakeCall(AnswerGrants);
  if (!ReadGrant(exchange, *body, call)) return exchange.RefuseCall(problem);
  CheckRequest& check = call.part(0).check;
  if (!exchange.principal().Covers(check.only_rule)) {
    exchange.loop.GiveBack(std::move(exchange.call));
    return RefuseScope(exchange);
  }
  AuditOperation(exchange.services(), exchange.Origin(), check);
}

}  // namespace sluice::api
