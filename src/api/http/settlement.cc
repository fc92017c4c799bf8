#include <algorithm>
#include <chrono>

#include "algo/state.h"
#include "api/http/call_fields.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "api/receipt_text.h"
#include "base/json_writer.h"

/// Usage that is known only afterwards: what a check took is brought to what it should have taken.
namespace sluice::api {
namespace {

using limiter::CheckRequest;
using store::Operation;

// The clocks of servers and of a store may be so far apart without a receipt's being good for
// longer than the store remembers it.
constexpr Micros kClockDifference = std::chrono::minutes(1);

Key KeyOf(const TakenLimit& taken) {
  return {.scope = taken.scope, .tag = taken.tag, .rest = taken.rest};
}

std::optional<ReceiptContents> ReadReceipt(const HttpExchange& exchange, JsonFields& fields) {
  const auto text = fields.Text("receipt");
  if (!text) {
    if (!fields.failed()) fields.Missing("receipt");
    return std::nullopt;
  }
  auto receipt = exchange.loop.receipts().Read(*text);
  if (!receipt || receipt->taken.empty() || exchange.services().now() > receipt->expires) {
    fields.Fail(ProblemCode::kInvalidReceipt, "receipt",
                KindOf(ProblemCode::kInvalidReceipt).meaning);
    return std::nullopt;
  }
  return receipt;
}

// Returns until when the store must remember that the receipt was settled: until what was taken
// can't be changed any more.
WallTime RememberUntil(const ReceiptContents& receipt, const TakenLimit& taken) {
  WallTime until = receipt.expires;
  if (taken.receipt.from_grant == 0) {
    until = std::min(until, algo::AdjustableUntil(taken.limit.numbers(), taken.receipt.at));
  }
  return until + kClockDifference;
}

// A settlement never charges more than the limit's bound, unless as much was taken already.
std::int64_t Capped(const TakenLimit& taken, std::int64_t cost) {
  const std::int64_t was_taken = taken.receipt.amount + taken.receipt.from_grant;
  return std::min(cost, std::max(taken.max_settlement, was_taken));
}

void AddAdjustment(const HttpLoop& loop, const ReceiptContents& receipt, const TakenLimit& taken,
                   std::int64_t cost, CheckRequest& check) {
  check.operation = Operation::kAdjust;
  check.AddLimit(KeyOf(taken), taken.limit, Capped(taken, cost));
  // The names of scopes that callers bring limits for begin so; those of rules don't.
  if (!taken.scope.starts_with(':')) check.SetOfRule();
  check.SetReceipt(taken.receipt);
  check.SetSettlement({.receipt = taken.id,
                       .expires = RememberUntil(receipt, taken),
                       .max_per_key = loop.options().max_settled_per_key});
}

// The status of the settled limits; called while the answer still points to them.
void NoteLimits(HttpCall::Part& part) {
  HttpCall& call = HttpCallOf(part);
  JsonWriter json(part.text);
  for (const store::KeyUse& use : part.check.uses()) {
    if (!part.text.empty()) part.text += ',';
    json.BeginObject();
    json.Key("limit").Int(use.verdict.limit);
    json.Key("remaining").Int(use.verdict.remaining);
    json.Key("resetAfterSeconds").Int(SecondsOf(use.verdict.reset_after));
    if (use.settlement != nullptr) {
      const bool is_capped = use.cost < call.amount;
      call.is_capped |= is_capped;
      call.was_settled |= use.settlement->total != use.cost;
      json.Key("settled").Int(use.settlement->total);
      json.Key("capped").Bool(is_capped);
    }
    json.EndObject();
  }
}

void AppendLimits(const HttpCall& call, std::string& body) {
  body += R"("limits":[)";
  bool is_first = true;
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (call.part(i).text.empty()) continue;
    if (!is_first) body += ',';
    is_first = false;
    body += call.part(i).text;
  }
  body += "]}";
}

// Whether all of the call's limits hold what was asked for; else `out` has the response.
bool Holds(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return false;
  if (!call.was_settled) return true;
  constexpr auto kCode = ProblemCode::kAlreadySettled;
  wire::HttpResponse response(out, KindOf(kCode).status, call.loop.services().http_date(),
                              call.response_options);
  std::string& body = response.BeginBody(kProblemType);
  AppendProblem({.code = kCode, .field = "receipt"}, body);
  body.back() = ',';
  AppendLimits(call, body);
  response.EndBody();
  return false;
}

void Respond(HttpCall& call, std::string_view begin, std::string& out) {
  wire::HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  std::string& body = response.BeginBody("application/json");
  body.append(begin);
  AppendLimits(call, body);
  response.EndBody();
}

void AnswerSettle(HttpCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  Respond(call,
          R"({"settled":true,"cost":)" + std::to_string(call.amount) + R"(,"capped":)" +
              (call.is_capped ? "true," : "false,"),
          out);
}

void AnswerCancel(HttpCall& call, std::string& out) {
  if (Holds(call, out)) Respond(call, R"({"cancelled":true,)", out);
}

}  // namespace

void RunSettle(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  body->Only({"receipt", "cost"});
  const auto cost = body->Whole("cost", 0, kMaxAmount, ProblemCode::kInvalidTokenCost);
  if (!cost && !body->failed()) body->Missing("cost");
  const auto receipt = ReadReceipt(exchange, *body);
  if (!receipt || !cost) return exchange.Refuse(problem);
  HttpCall& call = exchange.MakeCall(AnswerSettle);
  call.amount = *cost;
  call.on_decided = NoteLimits;
  HttpCall::Part* part = nullptr;
  for (const TakenLimit& one : receipt->taken) {
    if (!SettledBy(receipt->taken, one)) continue;
    if (part == nullptr) part = &call.Add();
    AddAdjustment(exchange.loop, *receipt, one, *cost, part->check);
  }
}

void RunCancel(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  body->Only({"receipt"});
  const auto receipt = ReadReceipt(exchange, *body);
  if (!receipt) return exchange.Refuse(problem);
  HttpCall& call = exchange.MakeCall(AnswerCancel);
  call.on_decided = NoteLimits;
  HttpCall::Part* adjusted = nullptr;
  HttpCall::Part* released = nullptr;
  for (const TakenLimit& one : receipt->taken) {
    if (one.limit.algorithm() != Algorithm::kConcurrency) {
      if (adjusted == nullptr) adjusted = &call.Add();
      AddAdjustment(exchange.loop, *receipt, one, 0, adjusted->check);
      continue;
    }
    if (released == nullptr) released = &call.Add();
    released->check.operation = Operation::kRelease;
    released->check.slot = one.receipt.slot;
    released->check.AddLimit(KeyOf(one), one.limit, 1);
  }
}

}  // namespace sluice::api
