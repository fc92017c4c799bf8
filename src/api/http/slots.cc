#include "answer/rate_limit_headers.h"
#include "api/http/call_fields.h"
#include "api/http/check_body.h"
#include "api/http/decision_body.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/parse_number.h"
#include "base/random.h"

/// Slots of concurrency limits: who has one is under way, until it gives it back.
namespace sluice::api {
namespace {

using limiter::CheckRequest;
using store::Operation;
using wire::HttpResponse;

// Slots are texts in JSON: half of them are no numbers there.
bool ReadSlot(JsonFields& fields, CheckRequest& check) {
  const auto text = fields.Text("slot");
  if (!text) return !fields.failed();
  check.slot = ParseNumber<decltype(check.slot)>(*text).value_or(0);
  if (check.slot != 0) return true;
  return fields.Fail(ProblemCode::kInvalidField, "slot",
                     "must be the text that acquire gave, a whole number in decimal");
}

bool HoldsSlot(const CheckRequest& check) {
  for (const store::KeyUse& use : check.uses()) {
    if (use.receipt.slot != 0) return true;
  }
  return false;
}

void AnswerAcquire(HttpCall& call, std::string& out) {
  HttpCall::Part& part = call.part(0);
  const CheckRequest& check = part.check;
  const HttpAnswer answer = AnswerTo(check);
  if (answer.status != 200) return AnswerCheck(call, out);
  HttpLoop& loop = call.loop;
  const WallTime now = loop.services().now();
  HttpResponse response(out, 200, loop.services().http_date(), call.response_options);
  AddRateLimitHeaders(check, now, loop.options().header_style, Micros{0}, response);
  std::string& body = response.BeginBody("application/json");
  AppendDecision(part, answer, now, body);
  body.pop_back();
  if (HoldsSlot(check)) {
    body.append(R"(,"slot":")").append(std::to_string(check.slot)).append("\"}");
  } else {
    body += R"(,"slot":null})";
  }
  response.EndBody();
}

void RespondAffected(HttpCall& call, std::string_view name, std::string& out) {
  HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject().Key(name).Uint(call.part(0).check.affected).EndObject();
  response.EndBody();
}

void AnswerRelease(HttpCall& call, std::string& out) {
  if (WasDone(call, out)) RespondAffected(call, "released", out);
}

void AnswerRenew(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  if (call.part(0).check.affected > 0) return RespondAffected(call, "renewed", out);
  HttpResponse response(out, 404, call.loop.services().http_date(), call.response_options);
  FinishWithProblem({.code = ProblemCode::kSlotNotHeld, .field = "slot"}, response);
}

bool ReadSlotsOfReceipt(const HttpExchange& exchange, JsonFields& fields, CheckRequest& check) {
  if (!fields.Only({"receipt"})) return false;
  const auto text = fields.Text("receipt");
  if (!text) return false;
  // For slots a receipt is good as long as they are held: to release one again changes nothing.
  const auto receipt = exchange.loop.receipts().Read(*text);
  if (receipt) {
    for (const TakenLimit& one : receipt->taken) {
      if (one.limit.algorithm() != Algorithm::kConcurrency) continue;
      check.slot = one.receipt.slot;
      check.AddLimit({.scope = one.scope, .tag = one.tag, .rest = one.rest}, one.limit, 1);
    }
  }
  if (check.slot != 0) return true;
  return fields.Fail(
      ProblemCode::kInvalidReceipt, "receipt",
      receipt ? "the receipt holds no slot" : KindOf(ProblemCode::kInvalidReceipt).meaning);
}

bool ReadHolder(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part) {
  if (fields.Has("receipt")) return ReadSlotsOfReceipt(exchange, fields, part.check);
  if (!fields.Only({"slot", "attributes", "key", "limit", "receipt"})) return false;
  if (!ReadSlot(fields, part.check)) return false;
  if (part.check.slot == 0) return fields.Missing("slot");
  return ReadCaller(exchange, fields, part);
}

void RunOnHeldSlot(HttpExchange& exchange, Operation operation,
                   void (*answer)(HttpCall&, std::string&)) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  HttpCall::Part& part = exchange.MakeCall(answer).Add();
  part.check.operation = operation;
  if (!ReadHolder(exchange, *body, part)) exchange.RefuseCall(problem);
}

}  // namespace

void RunAcquire(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  HttpCall::Part& part = exchange.MakeCall(AnswerAcquire).Add();
  const bool is_right = body->Only({"attributes", "key", "limit", "cost", "slot"}) &&
                        ReadCost(*body, part.check) && ReadSlot(*body, part.check) &&
                        ReadCaller(exchange, *body, part);
  if (!is_right) return exchange.RefuseCall(problem);
  // Chosen here, so that the response can name it.
  if (part.check.slot == 0) part.check.slot = RandomId();
  part.gives_receipt = true;
}

void RunRelease(HttpExchange& exchange) {
  RunOnHeldSlot(exchange, Operation::kRelease, AnswerRelease);
}

void RunRenew(HttpExchange& exchange) { RunOnHeldSlot(exchange, Operation::kRenew, AnswerRenew); }

}  // namespace sluice::api
