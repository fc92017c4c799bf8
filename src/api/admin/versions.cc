#include "api/admin/change_route.h"
#include "api/admin/control_json.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "control/rule_service.h"

/// The history of the rules: /admin/v1/rules/versions.
namespace sluice::api {

void RunListVersions(HttpExchange& exchange) {
  RunRuleTask(exchange, TaskKind::kRead, [](ControlServices& services) {
    const auto versions = services.rules.ListVersions();
    if (!versions) return ReplyWith(versions.error());
    TaskReply reply;
    JsonWriter json(reply.body);
    AppendVersions(*versions, json);
    return reply;
  });
}

void RunGetVersion(HttpExchange& exchange) {
  const auto id = ReadPathVersion(exchange, "version");
  if (!id) return;
  RunRuleTask(exchange, TaskKind::kRead, [id = *id](ControlServices& services) {
    const auto version = services.rules.GetVersion(id);
    if (!version) return ReplyWith(version.error());
    if (!*version) return ReplyWith(Problem{.code = ProblemCode::kVersionNotFound});
    TaskReply reply;
    reply.entity_tag = EntityTag((*version)->info.ref);
    JsonWriter json(reply.body);
    AppendVersion(**version, json);
    return reply;
  });
}

void RunCompareVersions(HttpExchange& exchange) {
  const auto from = ReadPathVersion(exchange, "from");
  if (!from) return;
  const auto to = ReadPathVersion(exchange, "to");
  if (!to) return;
  RunRuleTask(exchange, TaskKind::kEvaluate, [from = *from, to = *to](ControlServices& services) {
    const auto difference = services.rules.Compare(from, to);
    if (!difference && difference.error().code == ErrorCode::kInvalidRules) {
      return ReplyWith(
          Problem{.code = ProblemCode::kRulesInvalid, .detail = difference.error().message});
    }
    if (!difference) return ReplyWith(difference.error());
    if (!*difference) return ReplyWith(Problem{.code = ProblemCode::kVersionNotFound});
    TaskReply reply;
    JsonWriter json(reply.body);
    AppendDifference(**difference, json);
    return reply;
  });
}

void RunRestoreVersion(HttpExchange& exchange) {
  const auto id = ReadPathVersion(exchange, "version");
  if (!id) return;
  if (!exchange.request.body.empty()) {
    return exchange.Refuse(
        {.code = ProblemCode::kInvalidBody, .detail = "this request has no body"});
  }
  RunChange(exchange, {.kind = control::ChangeKind::kRestore, .restore = *id});
}

}  // namespace sluice::api
