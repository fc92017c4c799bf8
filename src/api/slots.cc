#include <charconv>

#include "answer/rate_limit_headers.h"
#include "api/call_fields.h"
#include "api/check_body.h"
#include "api/decision_body.h"
#include "api/http_routes.h"
#include "api/json_body.h"
#include "base/json_writer.h"
#include "base/random.h"

/// Slots of concurrency limits: who has one is under way, until it gives it back.
namespace sluice::api {
namespace {

using limiter::Question;
using store::Operation;
using wire::HttpResponse;

// Slots are texts in JSON: half of them are no numbers there.
bool ReadSlot(JsonFields& fields, Question& question) {
  const auto text = fields.Text("slot");
  if (!text) return !fields.failed();
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, question.slot);
  if (error == std::errc{} && stop == end && question.slot != 0) return true;
  return fields.Fail(ProblemCode::kInvalidField, "slot",
                     "must be the text that acquire gave, a whole number in decimal");
}

bool HoldsSlot(const Question& question) {
  for (const store::Use& use : question.uses()) {
    if (use.receipt.slot != 0) return true;
  }
  return false;
}

void AnswerAcquire(HttpCall& call, std::string& out) {
  HttpCall::Part& part = call.part(0);
  const Question& question = part.question;
  const HttpAnswer answer = AnswerTo(question);
  if (answer.status != 200) return AnswerCheck(call, out);
  HttpLoop& loop = call.loop;
  const WallTime now = loop.host().now();
  HttpResponse response(out, 200, loop.host().http_date(), call.asked);
  AddRateLimitHeaders(question, now, loop.options().header_style, Micros{0}, response);
  std::string& body = response.BeginBody("application/json");
  AppendDecision(part, answer, now, body);
  body.pop_back();
  if (HoldsSlot(question)) {
    body.append(R"(,"slot":")").append(std::to_string(question.slot)).append("\"}");
  } else {
    body += R"(,"slot":null})";
  }
  response.EndBody();
}

void RespondAffected(HttpCall& call, std::string_view name, std::string& out) {
  HttpResponse response(out, 200, call.loop.host().http_date(), call.asked);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject().Key(name).Uint(call.part(0).question.affected).EndObject();
  response.EndBody();
}

void AnswerRelease(HttpCall& call, std::string& out) {
  if (WasDone(call, out)) RespondAffected(call, "released", out);
}

void AnswerRenew(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  if (call.part(0).question.affected > 0) return RespondAffected(call, "renewed", out);
  HttpResponse response(out, 404, call.loop.host().http_date(), call.asked);
  FinishWithProblem({.code = ProblemCode::kSlotNotHeld, .field = "slot"}, response);
}

bool ReadSlotsOfReceipt(const HttpExchange& exchange, JsonFields& fields, Question& question) {
  if (!fields.Only({"receipt"})) return false;
  const auto text = fields.Text("receipt");
  if (!text) return false;
  const auto taken = exchange.loop.receipts().Read(*text, exchange.host().now());
  if (taken) {
    for (const TakenLimit& one : *taken) {
      if (one.limit.algorithm() != Algorithm::kConcurrency) continue;
      question.slot = one.receipt.slot;
      question.AddLimit({.scope = one.scope, .tag = one.tag, .rest = one.rest}, one.limit, 1);
    }
  }
  if (question.slot != 0) return true;
  return fields.Fail(
      ProblemCode::kInvalidReceipt, "receipt",
      taken ? "the receipt holds no slot" : KindOf(ProblemCode::kInvalidReceipt).meaning);
}

bool ReadHolder(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part) {
  if (fields.Has("receipt")) return ReadSlotsOfReceipt(exchange, fields, part.question);
  if (!fields.Only({"slot", "attributes", "key", "limit", "receipt"})) return false;
  if (!ReadSlot(fields, part.question)) return false;
  if (part.question.slot == 0) return fields.Missing("slot");
  return ReadCaller(exchange, fields, part);
}

void RunOnHeldSlot(HttpExchange& exchange, Operation operation,
                   void (*answer)(HttpCall&, std::string&)) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  HttpCall::Part& part = exchange.MakeCall(answer).Add();
  part.question.operation = operation;
  if (!ReadHolder(exchange, *body, part)) exchange.RefuseCall(problem);
}

}  // namespace

void RunAcquire(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  HttpCall::Part& part = exchange.MakeCall(AnswerAcquire).Add();
  const bool is_right = body->Only({"attributes", "key", "limit", "cost", "slot"}) &&
                        ReadCost(*body, part.question) && ReadSlot(*body, part.question) &&
                        ReadCaller(exchange, *body, part);
  if (!is_right) return exchange.RefuseCall(problem);
  // Chosen here, so that it can be told.
  if (part.question.slot == 0) part.question.slot = RandomId();
  part.gives_receipt = true;
}

void RunRelease(HttpExchange& exchange) {
  RunOnHeldSlot(exchange, Operation::kRelease, AnswerRelease);
}

void RunRenew(HttpExchange& exchange) { RunOnHeldSlot(exchange, Operation::kRenew, AnswerRenew); }

}  // namespace sluice::api
