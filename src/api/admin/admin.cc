#include <array>
#include <chrono>
#include <optional>
#include <span>

#include "api/admin/audit_trail.h"
#include "api/admin/fleet_enforcement.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/parse_number.h"
#include "base/url.h"

/// Routes for operators: state of the running server, and changes to it.
namespace sluice::api {
namespace {

std::int64_t UnixSeconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

// A file may have a hundred thousand errors, and the log has them all.
constexpr std::size_t kMostErrorsShown = 1000;

std::vector<std::string> ShownOf(std::vector<std::string> lines) {
  if (lines.size() <= kMostErrorsShown) return lines;
  const std::size_t more = lines.size() - kMostErrorsShown;
  lines.resize(kMostErrorsShown);
  lines.push_back("and " + std::to_string(more) + " more: the log has them all");
  return lines;
}

void AppendLines(const std::vector<std::string>& lines, JsonWriter& json) {
  json.BeginArray();
  for (const std::string& line : ShownOf(lines)) json.String(line);
  json.EndArray();
}

void AppendVersion(const LiveVersion<match::RuleSet>& version, JsonWriter& json) {
  json.BeginObject();
  json.Key("version").Uint(version.number);
  json.Key("fingerprint").String(version.fingerprint);
  json.Key("file").String(version.source);
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
    const auto number = ParseNumber<std::uint64_t>(parameter.value());
    if (parameter.name() != "version" || version || !number) {
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

void Audit(const HttpExchange& exchange, std::string action, std::string target) {
  exchange.admin().Audit(exchange.Origin(), std::move(action), std::move(target));
}

// For calls whose work is about the rules.
AdminServices::RulesDone TakeReport(HttpCall& call, std::function<void()> done) {
  return [&call, done = std::move(done)](const std::shared_ptr<const LoadReport>& report) {
    call.result = report;
    done();
  };
}

const LoadReport& ReportOf(const HttpCall& call) {
  return *static_cast<const LoadReport*>(call.result.get());
}

wire::HttpResponse Respond(HttpCall& call, int status, std::string& out) {
  return {out, status, call.loop.services().http_date(), call.response_options};
}

void RefuseCall(HttpCall& call, const Problem& problem, std::string& out) {
  wire::HttpResponse response = Respond(call, KindOf(problem.code).status, out);
  FinishWithProblem(problem, response);
}

void AnswerReload(HttpCall& call, std::string& out) {
  const LoadReport& report = ReportOf(call);
  if (report.outcome == LoadOutcome::kRefused) {
    Problem problem{.code = ProblemCode::kRulesInvalid};
    for (const std::string& line : ShownOf(report.errors)) {
      problem.detail.append(problem.detail.empty() ? "" : "\n").append(line);
    }
    return RefuseCall(call, problem, out);
  }
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("outcome").String(NameOf(report.outcome));
  json.Key("version").Uint(report.version);
  json.Key("warnings");
  AppendLines(report.warnings, json);
  json.EndObject();
  Respond(call, 200, out).Finish("application/json", body);
}

void AnswerRollback(HttpCall& call, std::string& out) {
  const LoadReport& report = ReportOf(call);
  if (report.outcome == LoadOutcome::kRefused) {
    return RefuseCall(call, {.code = ProblemCode::kVersionNotFound, .field = "version"}, out);
  }
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("version").Uint(report.version);
  json.Key("restores").Int(call.amount);
  json.EndObject();
  Respond(call, 200, out).Finish("application/json", body);
}

void RunRules(HttpExchange& exchange) {
  const LiveStatus status = exchange.admin().rules().Status();
  const std::vector<LiveVersion<match::RuleSet>> versions = exchange.admin().rules().Versions();
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("active");
  AppendVersion(versions.empty() ? LiveVersion<match::RuleSet>{} : versions.back(), json);
  json.Key("failing").Bool(status.failing);
  json.Key("lastError");
  AppendLines(*status.last_error, json);
  json.Key("lastGoodLoad").Int(UnixSeconds(status.last_good_load));
  json.Key("goodLoads").Uint(status.good_loads);
  json.Key("failedLoads").Uint(status.failed_loads);
  json.Key("versions").BeginArray();
  for (const LiveVersion<match::RuleSet>& version : versions) AppendVersion(version, json);
  json.EndArray().EndObject();
  exchange.RespondJson(200, body);
}

void RunReload(HttpExchange& exchange) {
  Audit(exchange, "rules.reload", {});
  HttpCall& call = exchange.MakeCall(AnswerReload);
  call.work = [&call](std::function<void()> done) {
    call.loop.services().admin().ReloadRules(TakeReport(call, std::move(done)));
  };
}

void RunRollback(HttpExchange& exchange) {
  Problem problem;
  const auto version = ReadVersion(exchange, problem);
  if (!version) return exchange.Refuse(problem);
  HttpCall& call = exchange.MakeCall(AnswerRollback);
  call.amount = static_cast<std::int64_t>(*version);
  call.work = [&call, origin = exchange.Origin()](std::function<void()> done) {
    call.loop.services().admin().RollBackRules(static_cast<std::uint64_t>(call.amount), origin,
                                               TakeReport(call, std::move(done)));
  };
}

void RunGetEnforcement(HttpExchange& exchange) {
  RespondText(exchange, "enforcement", LabelOf(exchange.admin().enforcement()));
}

void RunSetEnforcement(HttpExchange& exchange) {
  Problem problem;
  const auto name = ReadOnlyText(exchange, "enforcement", problem);
  if (!name) return exchange.Refuse(problem);
  if (const auto enforcement = ParseEnforcement(*name)) {
    exchange.admin().SetEnforcement(*enforcement);
    Audit(exchange, "enforcement.set", *name);
    return RunGetEnforcement(exchange);
  }
  exchange.Refuse({.code = ProblemCode::kInvalidField,
                   .field = "enforcement",
                   .detail = "must be on, shadow or off"});
}

void RunGetLogLevel(HttpExchange& exchange) {
  RespondText(exchange, "level", exchange.admin().log_level());
}

void RunSetLogLevel(HttpExchange& exchange) {
  Problem problem;
  const auto level = ReadOnlyText(exchange, "level", problem);
  if (!level) return exchange.Refuse(problem);
  if (exchange.admin().SetLogLevel(*level)) {
    Audit(exchange, "log_level.set", *level);
    return RunGetLogLevel(exchange);
  }
  exchange.Refuse({.code = ProblemCode::kInvalidField,
                   .field = "level",
                   .detail = "must be error, warn, info or debug"});
}

using enum identity::Role;
using enum wire::HttpMethod;

constexpr auto kAdminRoutes = std::to_array<HttpRoute>({
    {"/admin/rules", kGet, kViewer, RunRules},
    {"/admin/rules/reload", kPost, kEditor, RunReload},
    {"/admin/rules/rollback", kPost, kEditor, RunRollback},
    {"/admin/enforcement", kGet, kViewer, RunGetEnforcement},
    {"/admin/enforcement", kPut, kEditor, RunSetEnforcement},
    {"/admin/log-level", kGet, kViewer, RunGetLogLevel},
    {"/admin/log-level", kPut, kOperator, RunSetLogLevel},
});

}  // namespace

std::span<const HttpRoute> AdminRoutes() { return kAdminRoutes; }

}  // namespace sluice::api
