#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/admin/admin_services.h"
#include "api/admin/key_json.h"
#include "api/admin/key_services.h"
#include "api/admin/task_route.h"
#include "api/http/json_body.h"
#include "api/http/loop.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/labels.h"

/// Resets by selector: /admin/v1/resets.
namespace sluice::api {
namespace {

constexpr std::int64_t kUsualMostKeys = 1'000'000;
constexpr std::int64_t kMostKeysReset = 100'000'000;

struct ResetRequest {
  KeySelector selector{};
  bool dry_run = false;
  std::int64_t max_keys = kUsualMostKeys;
};

bool ReadResetRequest(JsonFields& body, ResetRequest& request) {
  if (!body.Only({"rule", "prefix", "match", "all", "dry_run", "max_keys"})) return false;
  KeySelector& selector = request.selector;
  if (const auto rule = body.Text("rule")) selector.rule = *rule;
  if (const auto prefix = body.Text("prefix")) selector.prefix = *prefix;
  if (const auto match = body.Text("match")) {
    selector.pattern = *match;
    if (const auto error = rules::GlobProblem(*match)) {
      return body.Fail(ProblemCode::kInvalidField, "match", *error);
    }
    selector.glob = rules::Glob::Compile(*match);
  }
  const bool all = body.Bool("all").value_or(false);
  request.dry_run = body.Bool("dry_run").value_or(false);
  if (const auto most = body.Whole("max_keys", 1, kMostKeysReset)) request.max_keys = *most;
  if (body.failed()) return false;
  if (selector.is_empty() && !all) {
    return body.Fail(ProblemCode::kMissingField, "rule",
                     "select keys by `rule`, `prefix` or `match`, or say \"all\": true");
  }
  return true;
}

void AppendJob(const ResetJob& job, KeyDetail detail, JsonWriter& json) {
  const auto shown = [detail](const std::string& text) {
    return detail == KeyDetail::kWhole ? text : ShownKey(text, detail);
  };
  json.BeginObject();
  json.Key("id").String(job.id);
  json.Key("state").String(LabelOf(job.state));
  json.Key("rule");
  job.selector.rule.empty() ? json.Null() : json.String(job.selector.rule);
  json.Key("prefix");
  job.selector.prefix.empty() ? json.Null() : json.String(shown(job.selector.prefix));
  json.Key("match");
  job.selector.glob ? json.String(shown(job.selector.pattern)) : json.Null();
  json.Key("scanned").Uint(job.scanned);
  json.Key("matched").Uint(job.matched);
  json.Key("reset").Uint(job.reset);
  json.Key("complete").Bool(job.complete);
  json.Key("author").String(job.origin.author);
  json.Key("started");
  AppendTimeOrNull(job.started, json);
  json.Key("ended");
  AppendTimeOrNull(job.ended, json);
  json.Key("error");
  job.error.empty() ? json.Null() : json.String(job.error);
  json.EndObject();
}

TaskReply ReplyWithJob(const std::optional<ResetJob>& job, KeyDetail detail, int status = 200) {
  if (!job) {
    return ReplyWith(Problem{.code = ProblemCode::kResetNotFound});
  }
  TaskReply reply;
  reply.status = status;
  JsonWriter json(reply.body);
  AppendJob(*job, detail, json);
  return reply;
}

TaskReply Preview(KeyServices& services, const KeySelector& selector, KeyDetail detail) {
  const auto preview = services.PreviewReset(selector);
  if (!preview) return ReplyWithStoreError(preview.error());
  TaskReply reply;
  JsonWriter json(reply.body);
  json.BeginObject();
  json.Key("count").Uint(preview->count);
  json.Key("scanned").Uint(preview->scanned);
  json.Key("complete").Bool(preview->complete);
  json.Key("sample").BeginArray();
  for (const OwnedKey& key : preview->sample) {
    json.BeginObject();
    AppendListedKey(key.view(), detail, json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return reply;
}

}  // namespace

void RunStartReset(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  ResetRequest request;
  if (!body || !ReadResetRequest(*body, request)) return exchange.Refuse(problem);
  if (!exchange.principal().Covers(request.selector.rule)) return RefuseScope(exchange);
  const KeyDetail detail = DetailFor(exchange);
  RunKeyTask(exchange, [request = std::move(request), detail,
                        origin = exchange.Origin()](KeyServices& services) {
    if (request.dry_run) return Preview(services, request.selector, detail);
    const auto job =
        services.StartReset(request.selector, static_cast<std::uint64_t>(request.max_keys), origin);
    if (!job) return ReplyWith(Problem{.code = ProblemCode::kResetRunning});
    return ReplyWithJob(job, detail, 202);
  });
}

void RunListResets(HttpExchange& exchange) {
  const KeyDetail detail = DetailFor(exchange);
  RunKeyTask(exchange, [detail](KeyServices& services) {
    TaskReply reply;
    JsonWriter json(reply.body);
    json.BeginObject().Key("resets").BeginArray();
    for (const ResetJob& job : services.ListResets()) AppendJob(job, detail, json);
    json.EndArray().EndObject();
    return reply;
  });
}

void RunGetReset(HttpExchange& exchange) {
  const auto id = ReadPathParameter(exchange, "id");
  if (!id) return;
  RunKeyTask(exchange, [id = *id, detail = DetailFor(exchange)](KeyServices& services) {
    return ReplyWithJob(services.FindReset(id), detail);
  });
}

void RunCancelReset(HttpExchange& exchange) {
  const auto id = ReadPathParameter(exchange, "id");
  if (!id) return;
  RunKeyTask(exchange, [id = *id, detail = DetailFor(exchange)](KeyServices& services) {
    return ReplyWithJob(services.CancelReset(id), detail);
  });
}

}  // namespace sluice::api
