#include <chrono>
#include <optional>
#include <vector>

#include "algo/algorithm_info.h"
#include "api/admin/audit_trail.h"
#include "api/http/call_fields.h"
#include "api/http/decision_body.h"
#include "api/http/exchange.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/key.h"
#include "base/url.h"

/// Operations with a query string: check, remaining, reset, inspect.
namespace sluice::api {
namespace {

using limiter::CheckRequest;
using store::Operation;

struct Parameters {
  std::vector<Attribute>& attributes;
  std::optional<std::string_view> key{};
  std::optional<std::string_view> algorithm{};
  std::optional<std::string_view> cost{};
  std::string_view cost_name{};
  std::optional<std::string_view> receipt{};
  bool has_address = false;
  bool has_key = false;  ///< As an attribute.
};

Problem Wrong(std::string_view parameter, std::string_view detail) {
  return {.code = ProblemCode::kInvalidParameter,
          .field = std::string(parameter),
          .detail = std::string(detail)};
}

bool Keep(std::optional<std::string_view>& place, const QueryParameters& parameter,
          Problem& problem) {
  if (place) {
    problem = Wrong(parameter.name(), "is there twice");
    return false;
  }
  place = parameter.value();
  return true;
}

bool KeepAttribute(const QueryParameters& parameter, Parameters& parameters, Problem& problem) {
  for (const Attribute& attribute : parameters.attributes) {
    if (attribute.name != parameter.name()) continue;
    problem = Wrong(parameter.name(), "is there twice");
    return false;
  }
  if (parameters.attributes.size() == kMaxAttributes) {
    problem = {.code = ProblemCode::kTooManyAttributes, .field = std::string(parameter.name())};
    return false;
  }
  if (parameter.name() == "api_key" && !IsKey(parameter.value())) {
    problem = BadKey(parameter.name());
    return false;
  }
  if (parameter.name() == "ip") {
    if (parameter.value().empty()) return true;  // As good as absent.
    parameters.has_address = true;
  }
  if (parameter.name() == "api_key") parameters.has_key = true;
  parameters.attributes.push_back({parameter.name(), parameter.value()});
  return true;
}

bool Read(HttpExchange& exchange, Parameters& parameters, Problem& problem) {
  const std::string_view query = exchange.request.query;
  QueryParameters parameter(query, exchange.loop.Room(query.size()));
  while (parameter.Next()) {
    const std::string_view name = parameter.name();
    bool kept = true;
    if (name == "key") {
      kept = Keep(parameters.key, parameter, problem);
    } else if (name == "algorithm") {
      kept = Keep(parameters.algorithm, parameter, problem);
    } else if (name == "permits" || name == "cost") {
      parameters.cost_name = name;
      kept = Keep(parameters.cost, parameter, problem);
    } else if (name == "receipt") {
      kept = Keep(parameters.receipt, parameter, problem);
    } else if (name.empty()) {
      problem = Wrong("=", "a parameter has a name");
      kept = false;
    } else {
      kept = KeepAttribute(parameter, parameters, problem);
    }
    if (!kept) return false;
  }
  if (parameter.failed()) {
    problem = Wrong(parameter.error(), "a % is followed by two hexadecimal digits");
    return false;
  }
  return true;
}

bool UseDefaultLimit(const HttpExchange& exchange, const Parameters& parameters,
                     HttpCall::Part& part, Problem& problem) {
  const std::optional<Algorithm> algorithm = algo::FindAlgorithm(*parameters.algorithm);
  const Limit* const limit =
      algorithm ? exchange.loop.options().default_limits.Find(*algorithm) : nullptr;
  if (limit == nullptr) {
    problem = BadAlgorithm("algorithm", *parameters.algorithm);
    return false;
  }
  part.check.AddLimit({.scope = algo::InfoOf(*algorithm).check_scope, .tag = part.key}, *limit,
                      part.check.cost);
  part.check.SetCallerKey();
  part.measured.set(0);
  return true;
}

bool UseRules(HttpExchange& exchange, const Parameters& parameters, CheckRequest& check,
              Problem& problem) {
  AddCertificate(exchange.peer, check);
  if (parameters.key) check.Add("api_key", *parameters.key);
  for (const Attribute& attribute : parameters.attributes) {
    check.Add(attribute.name, attribute.value);
  }
  const bool has_key = parameters.key || parameters.has_key;
  if (parameters.has_address ||
      AddPeerAddress(exchange.services(), exchange.peer, has_key, check)) {
    return true;
  }
  problem = {.code = ProblemCode::kNoIdentity};
  return false;
}

// Makes a check of the query. False: `problem` says why not.
bool AskByQuery(HttpExchange& exchange, Operation operation, HttpCall::Part& part,
                Problem& problem) {
  Parameters parameters{.attributes = exchange.loop.attributes()};
  parameters.attributes.clear();
  if (!Read(exchange, parameters, problem)) return false;
  const bool needs_key = parameters.algorithm || parameters.attributes.empty();
  if (parameters.key ? !IsKey(*parameters.key) : needs_key) {
    problem = BadKey("key");
    return false;
  }
  if (parameters.receipt && *parameters.receipt != "true" && *parameters.receipt != "false") {
    problem = Wrong("receipt", "must be true or false");
    return false;
  }
  CheckRequest& check = part.check;
  check.operation = operation;
  if (parameters.cost) {
    const auto cost = ParseCost(*parameters.cost);
    if (!cost) {
      problem = BadCost(parameters.cost_name, *parameters.cost);
      return false;
    }
    check.cost = *cost;
    if (parameters.cost_name == "permits") part.cost_name = "permits";
  }
  part.gives_receipt = parameters.receipt == "true";
  if (parameters.key) part.key = exchange.loop.Shown(*parameters.key);
  if (parameters.algorithm) return UseDefaultLimit(exchange, parameters, part, problem);
  return UseRules(exchange, parameters, check, problem);
}

void Ask(HttpExchange& exchange, Operation operation, void (*answer)(HttpCall&, std::string&)) {
  HttpCall& call = exchange.MakeCall(answer);
  Problem problem;
  if (!AskByQuery(exchange, operation, call.Add(), problem)) return exchange.RefuseCall(problem);
  if (exchange.route->is_administrative()) {
    AuditOperation(exchange.services(), exchange.Origin(), call.part(0).check);
  }
}

void AnswerReset(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  wire::HttpResponse(out, 204, call.loop.services().http_date(), call.response_options).Finish();
}

void AppendInspection(const store::Inspection& inspection, JsonWriter& json) {
  json.Key("live").Bool(inspection.live);
  json.Key("level").Int(inspection.level);
  json.Key("grant").Int(inspection.grant);
  json.Key("touchedAtMs");
  if (inspection.touched == WallTime{}) {
    json.Null();
  } else {
    json.Int(std::chrono::floor<std::chrono::milliseconds>(inspection.touched.time_since_epoch())
                 .count());
  }
}

void AnswerInspect(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  const CheckRequest& check = call.part(0).check;
  wire::HttpResponse response(out, 200, call.loop.services().http_date(), call.response_options);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject().Key("limits").BeginArray();
  std::string name;
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const store::KeyUse& use = check.uses()[i];
    const match::MatchedLimit& matched = check.matched(i);
    json.BeginObject();
    json.Key("key").String((name.clear(), AppendKeyName(use.key, name), name));
    if (matched.rule != nullptr) {
      json.Key("rule").String(matched.rule->id).Key("name").String(matched.limit->name);
    }
    json.Key("algorithm").String(algo::InfoOf(use.limit->algorithm()).public_name);
    json.Key("limit").Int(use.verdict.limit);
    json.Key("remaining").Int(use.verdict.remaining);
    json.Key("resetAfterMs").Int(MillisOf(use.verdict.reset_after));
    json.Key("shadow").Bool(use.mode == Mode::kShadow);
    AppendInspection(check.inspection(i), json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  response.EndBody();
}

}  // namespace

void RunQueryCheck(HttpExchange& exchange) { Ask(exchange, Operation::kCheck, AnswerCheck); }

void RunRemaining(HttpExchange& exchange) { Ask(exchange, Operation::kPeek, AnswerLook); }

void RunReset(HttpExchange& exchange) { Ask(exchange, Operation::kReset, AnswerReset); }

void RunInspect(HttpExchange& exchange) { Ask(exchange, Operation::kInspect, AnswerInspect); }

}  // namespace sluice::api
