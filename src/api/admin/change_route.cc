#include "api/admin/change_route.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "api/admin/audit_trail.h"
#include "api/admin/control_json.h"
#include "api/admin/task_route.h"
#include "base/duration.h"
#include "base/json_writer.h"
#include "base/url.h"
#include "control/rule_service.h"

namespace sluice::api {
namespace {

using control::ChangeOutcome;
using control::ChangeRequest;
using control::ChangeResult;

constexpr Micros kLongestWait = std::chrono::seconds(30);
constexpr std::size_t kLongestKey = 255;
constexpr std::size_t kLongestIfMatch = 4096;

// "1", "true" or nothing after the name; "0" or "false".
bool ReadSwitch(const QueryParameters& parameter, bool& value) {
  const std::string_view text = parameter.value();
  value = !parameter.has_value() || text == "1" || text == "true";
  return value || text == "0" || text == "false";
}

bool ReadParameter(const QueryParameters& parameter, ChangeRequest& change, std::string& expected) {
  const std::string_view name = parameter.name();
  expected = "must be 1 or 0";
  if (name == "dry_run") return ReadSwitch(parameter, change.dry_run);
  if (name == "force") return ReadSwitch(parameter, change.force);
  if (name == "reject_all") return ReadSwitch(parameter, change.allow_reject_all);
  if (name == "message") {
    change.message = parameter.value();
    return true;
  }
  if (name == "wait") {
    change.wait = ParseDuration(parameter.value());
    expected = "must be a duration up to 30s, such as 2s";
    return change.wait && *change.wait >= Micros{0} && *change.wait <= kLongestWait;
  }
  expected = "unknown parameter: dry_run, force, message, reject_all and wait are known";
  return false;
}

bool ReadQuery(HttpExchange& exchange, ChangeRequest& change, Problem& problem) {
  const std::string_view query = exchange.request.query;
  QueryParameters parameter(query, exchange.loop.Room(query.size()));
  std::string expected;
  while (parameter.Next()) {
    if (ReadParameter(parameter, change, expected)) continue;
    problem = {.code = ProblemCode::kInvalidParameter,
               .field = std::string(parameter.name()),
               .detail = expected};
    return false;
  }
  if (!parameter.failed()) return true;
  problem = {.code = ProblemCode::kInvalidParameter,
             .detail = "the query has invalid percent-encoding"};
  return false;
}

bool ReadHeaders(const wire::HttpRequest& request, ChangeRequest& change, Problem& problem) {
  if (const wire::HttpHeader* const header = request.Find("if-match")) {
    if (header->value.size() > kLongestIfMatch) {
      problem = {.code = ProblemCode::kInvalidParameter, .field = "If-Match"};
      return false;
    }
    change.if_match = std::string(header->value);
  }
  if (const wire::HttpHeader* const header = request.Find("idempotency-key")) {
    const std::string_view key = header->value;
    const bool is_visible =
        std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (key.empty() || key.size() > kLongestKey || !is_visible) {
      problem = {.code = ProblemCode::kInvalidParameter,
                 .field = "Idempotency-Key",
                 .detail = "must have 1 to 255 visible ASCII characters"};
      return false;
    }
    change.idempotency_key = key;
  }
  return true;
}

ProblemCode CodeOf(const ChangeRequest& change, ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kBadRequest:
      return ProblemCode::kInvalidField;
    case ChangeOutcome::kTooLarge:
      return ProblemCode::kBodyTooLarge;
    case ChangeOutcome::kPreconditionRequired:
      return ProblemCode::kPreconditionRequired;
    case ChangeOutcome::kPreconditionFailed:
      return ProblemCode::kPreconditionFailed;
    case ChangeOutcome::kNotFound:
      return change.kind == control::ChangeKind::kRestore ? ProblemCode::kVersionNotFound
                                                          : ProblemCode::kRuleNotFound;
    case ChangeOutcome::kInvalid:
      return ProblemCode::kRulesInvalid;
    case ChangeOutcome::kMessageRequired:
      return ProblemCode::kMessageRequired;
    case ChangeOutcome::kRejectsAll:
      return ProblemCode::kRejectsAll;
    case ChangeOutcome::kGuardExceeded:
      return ProblemCode::kGuardExceeded;
    case ChangeOutcome::kIdempotencyConflict:
      return ProblemCode::kIdempotencyConflict;
    case ChangeOutcome::kBusy:
      return ProblemCode::kBusy;
    default:
      return ProblemCode::kControlStoreUnavailable;
  }
}

TaskReply ReplyOf(const ChangeRequest& change, const ChangeResult& result) {
  if (!result.ok()) {
    Problem problem{
        .code = CodeOf(change, result.outcome), .field = result.field, .detail = result.message};
    JsonWriter json(problem.extension);
    json.BeginObject();
    AppendChangeProblem(result, json);
    json.EndObject();
    TaskReply reply = ReplyWith(std::move(problem));
    if (result.current.id.number > 0) reply.entity_tag = EntityTag(result.current);
    return reply;
  }
  TaskReply reply;
  const control::VersionRef& ref =
      result.version.ref.id.number > 0 ? result.version.ref : result.current;
  if (ref.id.number > 0) reply.entity_tag = EntityTag(ref);
  if (change.wait && !change.dry_run) {
    reply.status = result.propagation && result.propagation->complete() ? 200 : 202;
  }
  JsonWriter json(reply.body);
  AppendChangeResult(result, json);
  return reply;
}

// Waits for the nodes after a change, and adds them to its result. An error is not the change's.
TaskReply WaitForNodes(const ChangeRequest& change, ChangeResult result,
                       ControlServices& services) {
  if (auto propagation = services.rules.Wait(result.version.ref, *change.wait)) {
    result.propagation = *std::move(propagation);
  }
  return ReplyOf(change, result);
}

}  // namespace

void RunChange(HttpExchange& exchange, ChangeRequest change) {
  Problem problem;
  if (!ReadQuery(exchange, change, problem) || !ReadHeaders(exchange.request, change, problem)) {
    return exchange.Refuse(problem);
  }
  change.origin = exchange.Origin();
  const TaskKind kind = change.dry_run                                 ? TaskKind::kEvaluate
                        : change.kind == control::ChangeKind::kRestore ? TaskKind::kRestore
                                                                       : TaskKind::kChange;
  RunRuleTask(
      exchange, kind,
      [change = std::make_shared<ChangeRequest>(std::move(change))](ControlServices& services) {
        // The wait must not occupy a thread of changes.
        const auto wait = std::exchange(change->wait, std::nullopt);
        ChangeResult result = services.rules.Change(*change);
        change->wait = wait;
        TaskReply reply = ReplyOf(*change, result);
        if (wait && result.ok() && !change->dry_run) {
          reply.wait = [change, result = std::move(result)](ControlServices& others) {
            return WaitForNodes(*change, result, others);
          };
        }
        return reply;
      });
}

}  // namespace sluice::api
