#include "limiter/settlement.h"

#include "api/http/call_fields.h"
#include "api/http/check_body.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "api/receipt_call.h"
#include "base/json_writer.h"

/// Usage that is known only afterwards: what a check took is brought to what it should have taken.
namespace sluice::api {
namespace {

using limiter::ReceiptSettlement;
using limiter::SettledLimit;
using limiter::SettlementRefusal;

std::optional<ReceiptContents> ReadReceipt(const HttpExchange& exchange, JsonFields& fields) {
  const auto text = fields.Text("receipt");
  if (!text) {
    if (!fields.failed()) fields.Missing("receipt");
    return std::nullopt;
  }
  auto receipt = ReadValidReceipt(exchange.loop.receipts(), *text, exchange.services().now());
  if (!receipt) {
    fields.Fail(ProblemCode::kInvalidReceipt, "receipt",
                KindOf(ProblemCode::kInvalidReceipt).meaning);
  }
  return receipt;
}

void AppendLimits(const ReceiptSettlement& settlement, JsonWriter& json) {
  json.Key("limits").BeginArray();
  for (const SettledLimit& limit : settlement.limits()) {
    json.BeginObject();
    json.Key("limit").Int(limit.verdict.limit);
    json.Key("remaining").Int(limit.verdict.remaining);
    json.Key("resetAfterSeconds").Int(SecondsOf(limit.verdict.reset_after));
    json.Key("settled").Int(limit.settled);
    json.Key("capped").Bool(limit.is_capped);
    if (!limit.rule.empty()) {
      json.Key("rule").String(limit.rule);
      json.Key("name").String(limit.name);
    }
    json.EndObject();
  }
  json.EndArray();
}

// Whether the settlement holds; else `out` has the response.
bool Holds(HttpCall& call, std::string& out) {
  std::optional<Problem> problem = ProblemOfSettlement(call);
  if (!problem) return true;
  if (problem->code == ProblemCode::kAlreadySettled) {
    JsonWriter extension(problem->extension);
    extension.BeginObject();
    AppendLimits(*call.settlement, extension);
    extension.EndObject();
  }
  wire::HttpResponse response(out, KindOf(problem->code).status, call.loop.services().http_date(),
                              call.response_options);
  FinishWithProblem(*problem, response);
  return false;
}

/// Responds with the fields that `append` adds, and the limits.
template <typename Append>
void Respond(HttpCall& call, std::string& out, Append append) {
  wire::HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  append(json);
  AppendLimits(*call.settlement, json);
  json.EndObject();
  response.EndBody();
}

void AnswerSettleCost(HttpCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  Respond(call, out, [&](JsonWriter& json) {
    json.Key("settled").Bool(true);
    json.Key("cost").Int(call.amount);
    json.Key("capped").Bool(call.settlement->is_capped());
  });
}

void AnswerSettleUse(HttpCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  const ReceiptSettlement& settlement = *call.settlement;
  Respond(call, out, [&](JsonWriter& json) {
    json.Key("settled").Bool(!settlement.is_partial());
    json.Key("capped").Bool(settlement.is_capped());
    if (settlement.is_partial()) {
      json.Key("stop").Bool(settlement.stops());
    } else {
      json.Key("released").Uint(settlement.slots());
    }
  });
}

void AnswerCancel(HttpCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  Respond(call, out, [](JsonWriter& json) { json.Key("cancelled").Bool(true); });
}

void AnswerExtend(HttpCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  std::string receipt;
  AppendExtended(call, call.loop.receipts(), receipt);
  wire::HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  json.Key("extended").Bool(true);
  json.Key("renewed").Uint(call.settlement->slots());
  json.Key("receipt").String(receipt);
  json.EndObject();
  response.EndBody();
}

ReceiptSettlement SettlementOf(const HttpExchange& exchange, ReceiptContents receipt) {
  return {std::move(receipt), exchange.loop.options().receipts.max_settled_per_key};
}

}  // namespace

void RunSettle(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  body->Only({"receipt", "cost", "use", "partial"});
  const bool by_use = body->Has("use");
  if (by_use && body->Has("cost")) {
    body->Fail(ProblemCode::kInvalidField, "cost", "can't be combined with `use`");
  }
  const bool is_partial = body->Bool("partial").value_or(false);
  if (is_partial && !by_use) {
    body->Fail(ProblemCode::kInvalidField, "partial", "needs `use` with running totals");
  }
  std::optional<std::int64_t> cost;
  std::optional<std::vector<UsedQuantity>> use;
  if (by_use) {
    use = ReadUse(*body);
  } else {
    cost = body->Whole("cost", 0, kMaxAmount, ProblemCode::kInvalidTokenCost);
    if (!cost && !body->failed()) body->Missing("cost");
  }
  auto receipt = ReadReceipt(exchange, *body);
  if (!receipt || body->failed() || (by_use ? !use.has_value() : !cost.has_value())) {
    return exchange.Refuse(problem);
  }
  ReceiptSettlement settlement = SettlementOf(exchange, *std::move(receipt));
  SettlementRefusal refusal;
  const bool is_right =
      by_use ? settlement.SettleUse(*use, is_partial,
                                    KnownQuantities(exchange.services().limiter().rules().Get()),
                                    refusal)
             : settlement.SettleCost(*cost, refusal);
  if (!is_right) return exchange.Refuse(ProblemOf(refusal));
  HttpCall& call = exchange.MakeCall(by_use ? AnswerSettleUse : AnswerSettleCost);
  AddSettlement(std::move(settlement), call);
  call.amount = cost.value_or(0);
}

void RunCancel(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  body->Only({"receipt"});
  auto receipt = ReadReceipt(exchange, *body);
  if (!receipt) return exchange.Refuse(problem);
  ReceiptSettlement settlement = SettlementOf(exchange, *std::move(receipt));
  settlement.Cancel();
  AddSettlement(std::move(settlement), exchange.MakeCall(AnswerCancel));
}

void RunExtend(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  body->Only({"receipt"});
  auto receipt = ReadReceipt(exchange, *body);
  if (!receipt) return exchange.Refuse(problem);
  const bool replaces =
      exchange.loop.receipts().NeedsSuccessor(*receipt, exchange.services().now());
  ReceiptSettlement settlement = SettlementOf(exchange, *std::move(receipt));
  settlement.Extend(replaces);
  AddSettlement(std::move(settlement), exchange.MakeCall(AnswerExtend));
}

}  // namespace sluice::api
