#include <vector>

#include "api/call_fields.h"
#include "api/http_routes.h"
#include "api/json_body.h"
#include "api/receipt_text.h"
#include "base/json_writer.h"

/// Usage that is known only afterwards: what a check took is brought to what it should have taken.
namespace sluice::api {
namespace {

using limiter::Question;
using store::Operation;

using Taken = std::vector<TakenLimit>;

Key KeyOf(const TakenLimit& taken) {
  return {.scope = taken.scope, .tag = taken.tag, .rest = taken.rest};
}

std::optional<Taken> ReadReceipt(const HttpExchange& exchange, JsonFields& fields) {
  const auto text = fields.Text("receipt");
  if (!text) {
    if (!fields.failed()) fields.Missing("receipt");
    return std::nullopt;
  }
  auto taken = exchange.loop.receipts().Read(*text, exchange.host().now());
  if (!taken || taken->empty()) {
    fields.Fail(ProblemCode::kInvalidReceipt, "receipt",
                KindOf(ProblemCode::kInvalidReceipt).meaning);
    return std::nullopt;
  }
  return taken;
}

void AddAdjustment(const TakenLimit& taken, std::int64_t cost, Question& question) {
  question.operation = Operation::kAdjust;
  question.AddLimit(KeyOf(taken), taken.limit, cost);
  question.SetReceipt(taken.receipt);
  question.SetLeased(taken.leased);
}

// What the settled limits look like now; called while the answer still points to them.
void NoteLimits(HttpCall::Part& part) {
  JsonWriter json(part.text);
  for (const store::Use& use : part.question.uses()) {
    if (!part.text.empty()) part.text += ',';
    json.BeginObject();
    json.Key("limit").Int(use.verdict.limit);
    json.Key("remaining").Int(use.verdict.remaining);
    json.Key("resetAfterSeconds").Int(SecondsOf(use.verdict.reset_after));
    json.EndObject();
  }
}

void Respond(HttpCall& call, std::string_view begin, std::string& out) {
  if (!WasDone(call, out)) return;
  wire::HttpResponse response(out, 200, call.loop.host().http_date(), call.asked);
  std::string& body = response.BeginBody("application/json");
  body.append(begin).append(R"("limits":[)");
  bool is_first = true;
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (call.part(i).text.empty()) continue;
    if (!is_first) body += ',';
    is_first = false;
    body += call.part(i).text;
  }
  body += "]}";
  response.EndBody();
}

void AnswerSettle(HttpCall& call, std::string& out) {
  Respond(call, R"({"settled":true,"cost":)" + std::to_string(call.amount) + ",", out);
}

void AnswerCancel(HttpCall& call, std::string& out) { Respond(call, R"({"cancelled":true,)", out); }

}  // namespace

void RunSettle(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  body->Only({"receipt", "cost"});
  const auto cost = body->Whole("cost", 0, kMaxAmount, ProblemCode::kInvalidTokenCost);
  if (!cost && !body->failed()) body->Missing("cost");
  const auto taken = ReadReceipt(exchange, *body);
  if (!taken || !cost) return exchange.Refuse(problem);
  HttpCall& call = exchange.MakeCall(AnswerSettle);
  call.amount = *cost;
  call.take_note = NoteLimits;
  HttpCall::Part* part = nullptr;
  for (const TakenLimit& one : *taken) {
    if (!SettledBy(*taken, one)) continue;
    if (part == nullptr) part = &call.Add();
    AddAdjustment(one, *cost, part->question);
  }
}

void RunCancel(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  body->Only({"receipt"});
  const auto taken = ReadReceipt(exchange, *body);
  if (!taken) return exchange.Refuse(problem);
  HttpCall& call = exchange.MakeCall(AnswerCancel);
  call.take_note = NoteLimits;
  HttpCall::Part* adjusted = nullptr;
  HttpCall::Part* released = nullptr;
  for (const TakenLimit& one : *taken) {
    if (one.limit.algorithm() != Algorithm::kConcurrency) {
      if (adjusted == nullptr) adjusted = &call.Add();
      AddAdjustment(one, 0, adjusted->question);
      continue;
    }
    if (released == nullptr) released = &call.Add();
    released->question.operation = Operation::kRelease;
    released->question.slot = one.receipt.slot;
    released->question.AddLimit(KeyOf(one), one.limit, 1);
  }
}

}  // namespace sluice::api
