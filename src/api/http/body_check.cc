#include <algorithm>

#include "answer/rate_limit_headers.h"
#include "answer/refusal_text.h"
#include "api/admin/audit_trail.h"
#include "api/http/call_fields.h"
#include "api/http/check_body.h"
#include "api/http/decision_body.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/wide_math.h"

/// Checks that come as JSON, in their forms; and grants.
namespace sluice::api {
namespace {

using limiter::CheckRequest;
using store::Operation;
using wire::HttpResponse;

constexpr std::size_t kMaxChecks = 1000;

// ---- {"checks":[…]}: independent of each other.

void NoteCheck(HttpCall::Part& part) {
  const HttpAnswer answer = AnswerTo(part.check);
  if (!answer.is_problem) {
    return AppendDecision(part, answer, HttpCallOf(part).loop.services().now(), part.text);
  }
  const Problem problem = ProblemOf(part.check, answer, part.cost_name);
  JsonWriter json(part.text);
  json.BeginObject();
  json.Key("allowed").Bool(false);
  json.Key("key").String(part.key);
  json.Key("code").String(KindOf(problem.code).name);
  json.Key("message").String(problem.detail.empty() ? KindOf(problem.code).meaning
                                                    : problem.detail);
  json.EndObject();
}

void AnswerChecks(HttpCall& call, std::string& out) {
  HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  std::string& body = response.BeginBody("application/json");
  body += R"({"results":[)";
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (i > 0) body += ',';
    body += call.part(i).text;
  }
  body += "]}";
  response.EndBody();
}

bool ReadChecks(const HttpExchange& exchange, JsonFields& fields, HttpCall& call) {
  if (!fields.Only({"checks"})) return false;
  const auto array = fields.Array("checks");
  if (!array) return false;
  if (array->size() == 0) {
    return fields.Fail(ProblemCode::kMissingField, "checks", "must not be empty");
  }
  if (array->size() > kMaxChecks) {
    return fields.Fail(ProblemCode::kTooManyChecks, "checks",
                       KindOf(ProblemCode::kTooManyChecks).meaning);
  }
  std::size_t at = 0;
  for (const JsonValue value : *array) {
    const std::string path = "checks[" + std::to_string(at++) + "]";
    if (!value.is_object()) {
      return fields.Fail(ProblemCode::kInvalidField, path, "must be an object");
    }
    JsonFields check(value, path, fields.problem());
    if (!ReadCheck(exchange, check, call.Add())) return false;
  }
  return true;
}

// ---- {"descriptors":[…]}: all or nothing.

void AppendDescriptor(const CheckRequest& check, std::size_t i, WallTime now, std::string& body) {
  // If no state was read or the state is unknown: as if never used.
  const std::int64_t cap = check.own_limit(i).cap();
  const Verdict verdict = check.ruling == Ruling::kDecided
                              ? check.uses()[i].verdict
                              : Verdict{.limit = cap, .remaining = cap};
  const std::int64_t reset =
      CeilDiv((now.time_since_epoch() + verdict.reset_after).count(), 1'000'000);
  const auto member = [&body](std::string_view name, std::int64_t number) {
    body.append(name).append(std::to_string(number));
  };
  body.append(R"(,"allowed":)").append(verdict.outcome == Outcome::kAllowed ? "true" : "false");
  member(R"(,"current":)", std::max<std::int64_t>(verdict.limit - verdict.remaining, 0));
  member(R"(,"remaining":)", verdict.remaining);
  member(R"(,"resetAt":)", reset);
  body += R"(,"error":)";
  switch (verdict.outcome) {
    case Outcome::kAllowed:
      body += R"(null,"message":null})";
      break;
    case Outcome::kDenied:
      body += R"("RATE_LIMIT_EXCEEDED","message":"Rate limit exceeded"})";
      break;
    case Outcome::kNeverFits:
      body.append(R"("COST_EXCEEDS_LIMIT","message":")").append(NeverFits(check, i)) += "\"}";
      break;
  }
}

void AnswerDescriptors(HttpCall& call, std::string& out) {
  HttpLoop& loop = call.loop;
  HttpCall::Part& part = call.part(0);
  const CheckRequest& check = part.check;
  const HttpAnswer answer = AnswerTo(check);
  const WallTime now = loop.services().now();
  // A cost that never fits is reported beside its descriptor.
  const bool judged = check.ruling == Ruling::kDecided || answer.status == 200;
  const int status = !judged ? answer.status : check.allowed ? 200 : 429;
  HttpResponse response(out, status, loop.services().http_date(), call.response_options);
  if (!judged) {
    if (status == 503) response.Add("Retry-After", 1);
    return FinishWithProblem(ProblemOf(check, answer), response);
  }
  const Micros wait = WaitOf(check);
  AddRateLimitHeaders(check, now, loop.options().header_style,
                      wait > Micros{0} ? loop.Jitter(wait) : Micros{0}, response);
  std::string& body = response.BeginBody("application/json");
  body.append(R"({"allowed":)").append(check.allowed ? "true" : "false");
  body.append(R"(,"message":")");
  if (check.allowed) {
    body += "Request allowed\"";
  } else {
    body.append(answer.is_problem ? NeverFits(check, check.decision.index)
                                  : std::string(answer.message));
    body.append(R"(","code":")").append(KindOf(answer.code).name) += '"';
  }
  body.append(R"(,"retryAfterMs":)");
  body.append(std::to_string(wait < Micros{0} ? -1 : MillisOf(wait)));
  body.append(R"(,"degraded":)").append(check.degraded ? "true" : "false");
  body += R"(,"results":[)";
  for (std::size_t i = 0; i < check.own_limits(); ++i) {
    if (i > 0) body += ',';
    body += call.labels[i];
    AppendDescriptor(check, i, now, body);
  }
  body += ']';
  if (part.gives_receipt) AppendReceipt(part, now, body);
  body += '}';
  response.EndBody();
}

// ---- Grants.

void AnswerGrant(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  const CheckRequest& check = call.part(0).check;
  if (check.uses().empty()) {
    const NothingGranted nothing = WhyNothingGranted(check);
    const ProblemCode code =
        nothing.met_limits ? ProblemCode::kNotSupported : ProblemCode::kNoLimit;
    HttpResponse refusal(out, KindOf(code).status, call.loop.services().http_date(),
                         call.response_options);
    return FinishWithProblem({.code = code, .detail = nothing.why}, refusal);
  }
  HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  json.Key("granted").Int(call.amount);
  json.Key("limits").Uint(check.uses().size());
  json.EndObject();
  response.EndBody();
}

}  // namespace

void RunBodyCheck(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  bool is_right = false;
  if (body->Has("checks")) {
    HttpCall& call = exchange.MakeCall(AnswerChecks);
    call.on_decided = NoteCheck;
    is_right = ReadChecks(exchange, *body, call);
  } else if (body->Has("descriptors")) {
    is_right = ReadDescriptors(exchange, *body, exchange.MakeCall(AnswerDescriptors));
  } else {
    is_right = ReadCheck(exchange, *body, exchange.MakeCall(AnswerCheck).Add());
  }
  if (!is_right) exchange.RefuseCall(problem);
}

void RunGrant(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  HttpCall& call = exchange.MakeCall(AnswerGrant);
  HttpCall::Part& part = call.Add();
  part.check.operation = Operation::kGrant;
  bool is_right = body->Only({"attributes", "key", "limit", "amount"});
  const auto amount = body->Whole("amount", 1, kMaxAmount, ProblemCode::kInvalidTokenCost);
  if (!amount) {
    if (!body->failed()) body->Missing("amount");
    is_right = false;
  } else {
    call.amount = part.check.cost = *amount;
    is_right = is_right && ReadCaller(exchange, *body, part);
  }
  if (!is_right) return exchange.RefuseCall(problem);
  AuditOperation(exchange.services(), exchange.Origin(), part.check);
}

}  // namespace sluice::api
