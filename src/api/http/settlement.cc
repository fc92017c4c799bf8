#include "api/http/call_fields.h"
#include "api/http/check_body.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "api/receipt_text.h"
#include "base/json_writer.h"
#include "limiter/settlement.h"

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
  auto receipt = exchange.loop.receipts().Read(*text);
  if (!receipt || receipt->taken.empty() || exchange.services().now() > receipt->expires) {
    fields.Fail(ProblemCode::kInvalidReceipt, "receipt",
                KindOf(ProblemCode::kInvalidReceipt).meaning);
    return std::nullopt;
  }
  return receipt;
}

ReceiptSettlement& SettlementOf(HttpCall& call) {
  return *static_cast<ReceiptSettlement*>(call.kept.get());
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

// Whether all of the call's limits hold what was asked for; else `out` has the response.
bool Holds(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return false;
  const ReceiptSettlement& settlement = SettlementOf(call);
  if (!settlement.was_settled()) return true;
  constexpr auto kCode = ProblemCode::kAlreadySettled;
  wire::HttpResponse response(out, KindOf(kCode).status, call.loop.services().http_date(),
                              call.response_options);
  std::string& body = response.BeginBody(kProblemType);
  Problem problem{.code = kCode, .field = "receipt"};
  if (settlement.was_moved()) {
    problem.detail = "the receipt was extended: use the one that `extend` returned";
  }
  JsonWriter extension(problem.extension);
  extension.BeginObject();
  AppendLimits(settlement, extension);
  extension.EndObject();
  AppendProblem(problem, body);
  response.EndBody();
  return false;
}

/// Responds with the fields that `append` adds, and the limits.
template <typename Append>
void Respond(HttpCall& call, std::string& out, Append append) {
  wire::HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  append(json);
  AppendLimits(SettlementOf(call), json);
  json.EndObject();
  response.EndBody();
}

void AnswerSettleCost(HttpCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  Respond(call, out, [&](JsonWriter& json) {
    json.Key("settled").Bool(true);
    json.Key("cost").Int(call.amount);
    json.Key("capped").Bool(SettlementOf(call).is_capped());
  });
}

void AnswerSettleUse(HttpCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  const ReceiptSettlement& settlement = SettlementOf(call);
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

// `labels` has the receipt, unless it is replaced.
void AnswerExtend(HttpCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  const ReceiptSettlement& settlement = SettlementOf(call);
  std::string receipt;
  if (call.labels.empty()) {
    ReceiptSigner& receipts = call.loop.receipts();
    receipts.Append(SuccessorOf(settlement.receipt(), receipts.lifetime()), receipt);
  } else {
    receipt = call.labels.front();
  }
  wire::HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  json.Key("extended").Bool(true);
  json.Key("renewed").Uint(settlement.slots());
  json.Key("receipt").String(receipt);
  json.EndObject();
  response.EndBody();
}

// Leaves the checks of a settlement with the exchange.
void Run(HttpExchange& exchange, ReceiptSettlement settlement,
         void (*answer)(HttpCall& call, std::string& out)) {
  HttpCall& call = exchange.MakeCall(answer);
  auto kept = std::make_shared<ReceiptSettlement>(std::move(settlement));
  call.on_decided = [](CheckCall::Part& part) {
    SettlementOf(HttpCallOf(part)).TakeResults(part.check);
  };
  if (HttpCall::Part& part = call.Add(); !kept->AddAdjustments(part.check)) call.RemoveLast();
  if (HttpCall::Part& part = call.Add(); !kept->AddSlots(part.check)) call.RemoveLast();
  call.kept = std::move(kept);
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
  ReceiptSettlement settlement(*std::move(receipt), exchange.loop.options().max_settled_per_key);
  const Snapshot<match::RuleSet>& rules = exchange.services().limiter().rules().Get();
  SettlementRefusal refusal;
  const bool is_right =
      by_use ? settlement.SettleUse(*use, is_partial,
                                    rules ? std::span<const std::string>(rules->file().quantities)
                                          : std::span<const std::string>(),
                                    refusal)
             : settlement.SettleCost(*cost, refusal);
  if (!is_right) {
    const bool is_other_kind = refusal.error == ErrorCode::kNotSupported;
    return exchange.Refuse(
        {.code = is_other_kind ? ProblemCode::kInvalidField : ProblemCodeOf(refusal.error),
         .field = refusal.field,
         .detail = refusal.detail});
  }
  Run(exchange, std::move(settlement), by_use ? AnswerSettleUse : AnswerSettleCost);
  exchange.call->amount = cost.value_or(0);
}

void RunCancel(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  body->Only({"receipt"});
  auto receipt = ReadReceipt(exchange, *body);
  if (!receipt) return exchange.Refuse(problem);
  ReceiptSettlement settlement(*std::move(receipt), exchange.loop.options().max_settled_per_key);
  settlement.Cancel();
  Run(exchange, std::move(settlement), AnswerCancel);
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
  ReceiptSettlement settlement(*std::move(receipt), exchange.loop.options().max_settled_per_key);
  settlement.Extend(replaces);
  std::string text(*body->Text("receipt"));
  Run(exchange, std::move(settlement), AnswerExtend);
  if (!replaces) exchange.call->labels.push_back(std::move(text));
}

}  // namespace sluice::api
