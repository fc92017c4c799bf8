#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include "api/http_routes.h"
#include "api/json_body.h"
#include "base/json_writer.h"
#include "base/url.h"

/// What operators look at and change while the server runs.
namespace sluice::api {
namespace {

using limiter::Enforcement;
using rules::LoadOutcome;

std::int64_t UnixSeconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

void AppendMistakes(const std::vector<rules::Mistake>& mistakes, JsonWriter& json) {
  json.BeginArray();
  for (const rules::Mistake& mistake : mistakes) json.String(Describe(mistake));
  json.EndArray();
}

void AppendVersion(const rules::RulesVersion& version, JsonWriter& json) {
  json.BeginObject();
  json.Key("version").Uint(version.number);
  json.Key("fingerprint").String(version.fingerprint);
  json.Key("file").String(version.file);
  json.Key("since").Int(UnixSeconds(version.since));
  json.Key("restores");
  version.restores == 0 ? json.Null() : json.Uint(version.restores);
  json.EndObject();
}

std::string_view NameOf(LoadOutcome outcome) {
  switch (outcome) {
    case LoadOutcome::kActivated:
      return "activated";
    case LoadOutcome::kUnchanged:
      return "unchanged";
    case LoadOutcome::kRefused:
      return "refused";
  }
  return "";
}

std::optional<std::uint64_t> ReadVersion(HttpExchange& exchange, Problem& problem) {
  const std::string_view query = exchange.request.query;
  QueryParameters parameter(query, exchange.loop.Room(query.size()));
  std::optional<std::uint64_t> version;
  while (parameter.Next()) {
    const std::string_view value = parameter.value();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parameter.name() != "version" || version || error != std::errc{} ||
        end != value.data() + value.size()) {
      problem = {.code = ProblemCode::kInvalidParameter,
                 .field = std::string(parameter.name()),
                 .detail = "the query must be version=N, once"};
      return std::nullopt;
    }
    version = number;
  }
  if (!version) {
    problem = {.code = ProblemCode::kInvalidParameter,
               .field = "version",
               .detail = "is missing: which version to go back to"};
  }
  return version;
}

// The one text of a body like {"level":"debug"}.
std::optional<std::string> ReadOnlyText(HttpExchange& exchange, std::string_view name,
                                        Problem& problem) {
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body || !body->Only({name})) return std::nullopt;
  const auto text = body->Text(name);
  if (text) return std::string(*text);
  if (!body->failed()) body->Missing(name);
  return std::nullopt;
}

void RespondText(const HttpExchange& exchange, std::string_view name, std::string_view text) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Key(name).String(text).EndObject();
  exchange.RespondJson(200, body);
}

}  // namespace

void RunRules(HttpExchange& exchange) {
  const rules::LiveRules& live = exchange.host().rules();
  const rules::RulesStatus status = live.Status();
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("active");
  AppendVersion(status.active, json);
  json.Key("failing").Bool(status.failing);
  json.Key("lastError");
  AppendMistakes(status.last_error, json);
  json.Key("lastGoodLoad").Int(UnixSeconds(status.last_good_load));
  json.Key("goodLoads").Uint(status.good_loads);
  json.Key("failedLoads").Uint(status.failed_loads);
  json.Key("versions").BeginArray();
  for (const rules::RulesVersion& version : live.Versions()) AppendVersion(version, json);
  json.EndArray().EndObject();
  exchange.RespondJson(200, body);
}

void RunReload(HttpExchange& exchange) {
  const rules::LoadReport report = exchange.host().ReloadRules();
  if (report.outcome == LoadOutcome::kRefused) {
    Problem problem{.code = ProblemCode::kRulesInvalid};
    for (const rules::Mistake& mistake : report.mistakes) {
      problem.detail.append(problem.detail.empty() ? "" : "\n").append(Describe(mistake));
    }
    return exchange.Refuse(problem);
  }
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("outcome").String(NameOf(report.outcome));
  json.Key("version").Uint(report.version);
  json.Key("warnings");
  AppendMistakes(report.warnings, json);
  json.EndObject();
  exchange.RespondJson(200, body);
}

void RunRollback(HttpExchange& exchange) {
  Problem problem;
  const auto version = ReadVersion(exchange, problem);
  if (!version) return exchange.Refuse(problem);
  Host& host = exchange.host();
  const auto active = host.rules().Rollback(*version, host.now());
  if (!active) return exchange.Refuse({.code = ProblemCode::kVersionNotFound, .field = "version"});
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("version").Uint(*active);
  json.Key("restores").Uint(*version);
  json.EndObject();
  exchange.RespondJson(200, body);
}

void RunGetEnforcement(HttpExchange& exchange) {
  RespondText(exchange, "enforcement", limiter::NameOf(exchange.host().enforcement()));
}

void RunSetEnforcement(HttpExchange& exchange) {
  Problem problem;
  const auto name = ReadOnlyText(exchange, "enforcement", problem);
  if (!name) return exchange.Refuse(problem);
  for (const Enforcement one : {Enforcement::kOn, Enforcement::kShadow, Enforcement::kOff}) {
    if (limiter::NameOf(one) != *name) continue;
    exchange.host().SetEnforcement(one);
    return RunGetEnforcement(exchange);
  }
  exchange.Refuse({.code = ProblemCode::kInvalidField,
                   .field = "enforcement",
                   .detail = "must be on, shadow or off"});
}

void RunGetLogLevel(HttpExchange& exchange) {
  RespondText(exchange, "level", exchange.host().log_level());
}

void RunSetLogLevel(HttpExchange& exchange) {
  Problem problem;
  const auto level = ReadOnlyText(exchange, "level", problem);
  if (!level) return exchange.Refuse(problem);
  if (exchange.host().SetLogLevel(*level)) return RunGetLogLevel(exchange);
  exchange.Refuse({.code = ProblemCode::kInvalidField,
                   .field = "level",
                   .detail = "must be error, warn, info or debug"});
}

}  // namespace sluice::api
