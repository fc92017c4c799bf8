#include <algorithm>

#include "api/http/openapi.h"
#include "api/http/routes.h"
#include "base/json_writer.h"

/// The server about itself.
namespace sluice::api {
namespace {

constexpr std::string_view kPlain = "text/plain; charset=utf-8";

void RespondPlain(const HttpExchange& exchange, bool ok, std::string_view text) {
  exchange.Respond(ok ? 200 : 503).Finish(kPlain, text);
}

bool IsVerbose(std::string_view query) {
  return query == "verbose" || query.starts_with("verbose=") || query.starts_with("verbose&");
}

void AppendRulesVersion(AdminServices& admin, JsonWriter& json) {
  const LiveVersion<match::RuleSet> active = admin.rules().Active();
  json.BeginObject();
  json.Key("version").Uint(active.number);
  json.Key("fingerprint").String(active.fingerprint);
  json.EndObject();
}

void AnswerMetrics(HttpCall& call, std::string& out) {
  wire::HttpResponse(out, 200, call.loop.services().http_date(), call.response_options)
      .Finish(telemetry::ContentTypeOf(call.metrics_format),
              *static_cast<const std::string*>(call.result.get()));
}

}  // namespace

void RunLive(HttpExchange& exchange) {
  const bool live = exchange.admin().CheckHealth().live;
  RespondPlain(exchange, live, live ? "ok\n" : "not live\n");
}

void RunReady(HttpExchange& exchange) {
  const Health health = exchange.admin().CheckHealth();
  std::string text;
  if (IsVerbose(exchange.request.query)) {
    for (const Condition& condition : health.conditions) {
      text.append(condition.ok ? "[+] " : "[-] ").append(condition.name);
      text.append(condition.ok ? " ok" : " failed");
      if (!condition.detail.empty()) text.append(": ").append(condition.detail);
      text += '\n';
    }
  }
  text += health.ready ? "ready\n" : "not ready\n";
  RespondPlain(exchange, health.ready, text);
}

void RunVersion(HttpExchange& exchange) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("name").String("sluice");
  json.Key("version").String(exchange.services().version());
  json.Key("rules");
  AppendRulesVersion(exchange.admin(), json);
  json.EndObject();
  exchange.RespondJson(200, body);
}

void RunMetrics(HttpExchange& exchange) {
  const bool open =
      exchange.request.Get(wire::HttpName::kAccept).find("application/openmetrics-text") !=
      std::string_view::npos;
  HttpCall& call = exchange.MakeCall(AnswerMetrics);
  call.metrics_format = open ? MetricsFormat::kOpenMetrics : MetricsFormat::kPrometheus;
  call.work = [&call](std::function<void()> done) {
    call.loop.services().admin().MakeMetrics(
        call.metrics_format,
        [&call, done = std::move(done)](const std::shared_ptr<const std::string>& page) {
          call.result = page;
          done();
        });
  };
}

void RunHealth(HttpExchange& exchange) {
  const Health health = exchange.admin().CheckHealth();
  const bool up = health.live && health.ready;
  const bool well = std::all_of(health.conditions.begin(), health.conditions.end(),
                                [](const Condition& condition) { return condition.ok; });
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("status").String(!up ? "OUT_OF_SERVICE" : well ? "UP" : "DEGRADED");
  json.Key("components").BeginObject();
  for (const Condition& condition : health.conditions) {
    json.Key(condition.name).BeginObject();
    json.Key("status").String(condition.ok ? "UP" : "DOWN");
    if (!condition.detail.empty()) {
      json.Key("details").BeginObject().Key("message").String(condition.detail).EndObject();
    }
    json.EndObject();
  }
  json.EndObject().EndObject();
  exchange.RespondJson(up ? 200 : 503, body);
}

void RunInfo(HttpExchange& exchange) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("build").BeginObject();
  json.Key("name").String("sluice");
  json.Key("version").String(exchange.services().version());
  json.EndObject();
  json.Key("rules");
  AppendRulesVersion(exchange.admin(), json);
  json.Key("enforcement").String(LabelOf(exchange.admin().enforcement()));
  json.EndObject();
  exchange.RespondJson(200, body);
}

void RunOpenApi(HttpExchange& exchange) { exchange.RespondJson(200, kOpenApi); }

void RunIndex(HttpExchange& exchange) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("name").String("sluice");
  json.Key("version").String(exchange.services().version());
  json.Key("links").BeginObject();
  for (const HttpRoute& route : HttpRoutes()) {
    if (!route.index_name.empty() && route.IsServedOn(exchange.surface))
      json.Key(route.index_name).String(route.path);
  }
  json.EndObject();
  json.Key("documentation").String("docs/README.md");
  json.EndObject();
  exchange.RespondJson(200, body);
}

}  // namespace sluice::api
