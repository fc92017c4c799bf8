#include <algorithm>

#include "answer/rate_limit_headers.h"
#include "answer/refusal_text.h"
#include "api/call_fields.h"
#include "api/check_body.h"
#include "api/decision_body.h"
#include "api/http_routes.h"
#include "api/json_body.h"
#include "base/json_writer.h"
#include "base/wide_math.h"

/// Checks that come as JSON, in their forms; and grants.
namespace sluice::api {
namespace {

using limiter::Question;
using store::Operation;
using wire::HttpResponse;

constexpr std::size_t kMaxChecks = 1000;

// ---- {"checks":[…]}: independent of each other.

void NoteCheck(HttpCall::Part& part) {
  const HttpAnswer answer = AnswerTo(part.question);
  if (!answer.is_problem) {
    return AppendDecision(part, answer, part.call.loop.host().now(), part.text);
  }
  const Problem problem = ProblemOf(part.question, answer, part.cost_name);
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
  HttpResponse response(out, 200, call.loop.host().http_date(), call.asked);
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
  for (const simdjson::dom::element value : *array) {
    const std::string path = "checks[" + std::to_string(at++) + "]";
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) {
      return fields.Fail(ProblemCode::kInvalidField, path, "must be an object");
    }
    JsonFields check(object, path, fields.problem());
    if (!ReadCheck(exchange, check, call.Add())) return false;
  }
  return true;
}

// ---- {"descriptors":[…]}: all or nothing.

void AppendDescriptor(const Question& question, std::size_t i, WallTime now, std::string& body) {
  // Where nothing was looked at, or nobody knows: as if never used.
  const std::int64_t cap = question.own_limit(i).cap();
  const Verdict verdict = question.ruling == Ruling::kDecided
                              ? question.uses()[i].verdict
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
      body.append(R"("COST_EXCEEDS_LIMIT","message":")").append(NeverFits(question, i)) += "\"}";
      break;
  }
}

void AnswerDescriptors(HttpCall& call, std::string& out) {
  HttpLoop& loop = call.loop;
  HttpCall::Part& part = call.part(0);
  const Question& question = part.question;
  const HttpAnswer answer = AnswerTo(question);
  const WallTime now = loop.host().now();
  // A cost that never fits is told beside its descriptor.
  const bool judged = question.ruling == Ruling::kDecided || answer.status == 200;
  const int status = !judged ? answer.status : question.allowed ? 200 : 429;
  HttpResponse response(out, status, loop.host().http_date(), call.asked);
  if (!judged) {
    if (status == 503) response.Add("Retry-After", 1);
    return FinishWithProblem(ProblemOf(question, answer), response);
  }
  const Micros wait = WaitOf(question);
  AddRateLimitHeaders(question, now, loop.options().header_style,
                      wait > Micros{0} ? loop.Jitter(wait) : Micros{0}, response);
  std::string& body = response.BeginBody("application/json");
  body.append(R"({"allowed":)").append(question.allowed ? "true" : "false");
  body.append(R"(,"message":")");
  if (question.allowed) {
    body += "Request allowed\"";
  } else {
    body.append(answer.is_problem ? NeverFits(question, question.headline.index)
                                  : std::string(answer.message));
    body.append(R"(","code":")").append(KindOf(answer.code).name) += '"';
  }
  body.append(R"(,"retryAfterMs":)");
  body.append(std::to_string(wait < Micros{0} ? -1 : MillisOf(wait)));
  body.append(R"(,"degraded":)").append(question.degraded ? "true" : "false");
  body += R"(,"results":[)";
  for (std::size_t i = 0; i < question.own_limits(); ++i) {
    if (i > 0) body += ',';
    body += call.labels[i];
    AppendDescriptor(question, i, now, body);
  }
  body += ']';
  if (part.gives_receipt) AppendReceipt(part, now, body);
  body += '}';
  response.EndBody();
}

// ---- Grants.

void AnswerGrant(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  const Question& question = call.part(0).question;
  if (question.uses().empty()) {
    const NothingGranted nothing = WhyNothingGranted(question);
    const ProblemCode code =
        nothing.met_limits ? ProblemCode::kNotSupported : ProblemCode::kNoLimit;
    HttpResponse refusal(out, KindOf(code).status, call.loop.host().http_date(), call.asked);
    return FinishWithProblem({.code = code, .detail = nothing.why}, refusal);
  }
  HttpResponse response(out, 200, call.loop.host().http_date(), call.asked);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  json.Key("granted").Int(call.amount);
  json.Key("limits").Uint(question.uses().size());
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
    call.take_note = NoteCheck;
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
  part.question.operation = Operation::kGrant;
  bool is_right = body->Only({"attributes", "key", "limit", "amount"});
  const auto amount = body->Whole("amount", 1, kMaxAmount, ProblemCode::kInvalidTokenCost);
  if (!amount) {
    if (!body->failed()) body->Missing("amount");
    is_right = false;
  } else {
    call.amount = part.question.cost = *amount;
    is_right = is_right && ReadCaller(exchange, *body, part);
  }
  if (!is_right) exchange.RefuseCall(problem);
}

}  // namespace sluice::api
