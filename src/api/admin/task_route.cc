#include "api/admin/task_route.h"

#include <memory>
#include <utility>

#include "api/admin/admin_services.h"
#include "api/admin/insight_services.h"
#include "api/http/routes.h"
#include "base/url.h"
#include "base/utf8.h"
#include "wire/http_date.h"

namespace sluice::api {
namespace {

// A request under way. Its task and its loop use it in turn.
struct TaskState {
  TaskReply reply{};
  bool ran = false;
};

void AnswerTask(HttpCall& call, std::string& out) {
  const auto& state = *static_cast<const TaskState*>(call.kept.get());
  const TaskReply& reply = state.reply;
  const Problem busy{.code = ProblemCode::kBusy};
  const Problem* const problem = !state.ran ? &busy : reply.problem ? &*reply.problem : nullptr;
  wire::HttpResponse response(out, problem != nullptr ? KindOf(problem->code).status : reply.status,
                              call.loop.services().http_date(), call.response_options);
  if (!reply.entity_tag.empty()) response.Add("ETag", reply.entity_tag);
  if (reply.last_modified) {
    wire::HttpDate date;
    response.Add("Last-Modified", date.At(*reply.last_modified));
  }
  if (problem == nullptr) return response.Finish(reply.content_type, reply.body);
  if (problem->code == ProblemCode::kBusy) response.Add("Retry-After", "1");
  FinishWithProblem(*problem, response);
}

Problem ReadOnlySource(AdminServices& admin) {
  const std::string file = admin.rules().Active().source;
  return {.code = ProblemCode::kReadOnlySource,
          .detail = "the rules come from " + (file.empty() ? std::string("a file") : file) +
                    "; versions that the API can change need rules_source=store"};
}

}  // namespace

TaskReply ReplyWith(Problem problem) {
  TaskReply reply;
  reply.problem = std::move(problem);
  return reply;
}

TaskReply ReplyWith(const Error& error) {
  return ReplyWith(Problem{.code = ProblemCode::kControlStoreUnavailable, .detail = error.message});
}

void RunTask(HttpExchange& exchange, TaskKind kind,
             std::function<TaskReply(ControlServices& services)> task) {
  RuleTasks* const tasks = exchange.admin().rule_tasks();
  if (tasks == nullptr) return exchange.Refuse(ReadOnlySource(exchange.admin()));
  const auto state = std::make_shared<TaskState>();
  HttpCall& call = exchange.MakeCall(AnswerTask);
  call.kept = state;
  call.work = [tasks, kind, state, task = std::move(task)](std::function<void()> done) {
    tasks->Run(
        kind, [state, task](ControlServices& services) { state->reply = task(services); },
        [tasks, state, done = std::move(done)](bool ran) {
          state->ran = ran;
          const auto wait = std::exchange(state->reply.wait, nullptr);
          if (!ran || !wait) return done();
          tasks->Run(
              TaskKind::kWait,
              [state, wait](ControlServices& services) { state->reply = wait(services); },
              [done](bool /*waited*/) { done(); });
        });
  };
}

void RunInsightTask(HttpExchange& exchange, std::function<TaskReply(InsightReader& reader)> task) {
  InsightServices* const insight = exchange.admin().insight();
  if (insight == nullptr) return exchange.Refuse({.code = ProblemCode::kNotFound});
  const auto state = std::make_shared<TaskState>();
  HttpCall& call = exchange.MakeCall(AnswerTask);
  call.kept = state;
  call.work = [insight, state, task = std::move(task)](const std::function<void()>& done) {
    state->ran = true;
    const bool runs =
        insight->Run([state, task](InsightReader& reader) { state->reply = task(reader); }, done);
    if (runs) return;
    state->ran = false;
    done();
  };
}

void RunKeyTask(HttpExchange& exchange, std::function<TaskReply(KeyServices& services)> task) {
  const auto state = std::make_shared<TaskState>();
  HttpCall& call = exchange.MakeCall(AnswerTask);
  call.kept = state;
  call.work = [&admin = exchange.admin(), state,
               task = std::move(task)](std::function<void()> done) {
    admin.RunKeyTask([state, task](KeyServices& services) { state->reply = task(services); },
                     [state, done = std::move(done)](bool ran) {
                       state->ran = ran;
                       done();
                     });
  };
}

TaskReply ReplyWithStoreError(const Error& error) {
  const bool is_request = error.code == ErrorCode::kInvalidOptions;
  return ReplyWith(Problem{
      .code = is_request ? ProblemCode::kInvalidParameter : ProblemCode::kStorageUnavailable,
      .detail = error.message});
}

void RunRuleTask(HttpExchange& exchange, TaskKind kind,
                 std::function<TaskReply(ControlServices& services)> task) {
  if (!exchange.admin().has_stored_rules()) {
    return exchange.Refuse(ReadOnlySource(exchange.admin()));
  }
  RunTask(exchange, kind, std::move(task));
}

std::optional<std::string> ReadPathParameter(HttpExchange& exchange, std::string_view name) {
  std::string text;
  const std::string_view sent = PathParameter(*exchange.route, exchange.request.path, name);
  if (DecodePercent(sent, text) && IsUtf8(text)) return text;
  exchange.Refuse({.code = ProblemCode::kInvalidParameter,
                   .field = std::string(name),
                   .detail = "the path has invalid percent-encoding or invalid UTF-8"});
  return std::nullopt;
}

std::optional<control::VersionId> ReadPathVersion(HttpExchange& exchange, std::string_view name) {
  const auto version =
      control::ParseVersionId(PathParameter(*exchange.route, exchange.request.path, name));
  if (version && version->number > 0) return version;
  exchange.Refuse({.code = ProblemCode::kVersionNotFound,
                   .field = std::string(name),
                   .detail = "a version is <epoch>.<number>, or a number alone"});
  return std::nullopt;
}

}  // namespace sluice::api
