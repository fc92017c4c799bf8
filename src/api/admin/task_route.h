#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/result.h>
#include <sluice/time.h>

#include "answer/problem.h"
#include "api/admin/rule_tasks.h"
#include "api/http/exchange.h"
#include "control/version.h"

namespace sluice::api {
class KeyServices;
}  // namespace sluice::api

/// Routes whose responses are made on worker threads.
namespace sluice::api {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kYamlType = "application/yaml";

/// A response, made on a worker thread.
struct TaskReply {
  int status = 200;
  std::string_view content_type = kJsonType;
  std::string body{};
  std::string entity_tag{};  ///< With its quotes; empty: none.
  std::optional<WallTime> last_modified{};
  std::optional<Problem> problem{};  ///< Instead of all that but the entity tag.
  /// A task that follows, of the kind kWait: its reply replaces this one. If too many of those
  /// wait, this reply is sent.
  std::function<TaskReply(ControlServices& services)> wait{};
};

[[nodiscard]] TaskReply ReplyWith(Problem problem);
/// A control store's error: 503.
[[nodiscard]] TaskReply ReplyWith(const Error& error);

/// Runs a task for a request, and sends its reply. Refuses the request if there is no control
/// store, or if too many requests wait.
void RunTask(HttpExchange& exchange, TaskKind kind,
             std::function<TaskReply(ControlServices& services)> task);

/// Runs a task about the keys of the store for a request, and sends its reply. Refuses the request
/// if too many wait.
void RunKeyTask(HttpExchange& exchange, std::function<TaskReply(KeyServices& services)> task);
/// An error of the store of limits: 503, or 400 if the request is invalid.
[[nodiscard]] TaskReply ReplyWithStoreError(const Error& error);
/// The same for a task that needs versions of the rules: also refuses if they come from a file.
void RunRuleTask(HttpExchange& exchange, TaskKind kind,
                 std::function<TaskReply(ControlServices& services)> task);

struct InsightReader;
/// Runs a report about recent calls on the thread that collects them, and sends its reply.
void RunInsightTask(HttpExchange& exchange, std::function<TaskReply(InsightReader& reader)> task);

/// Returns a parameter of the request's path, decoded. Nothing: it can't be decoded, and the
/// request was refused.
[[nodiscard]] std::optional<std::string> ReadPathParameter(HttpExchange& exchange,
                                                           std::string_view name);
/// The same for a version.
[[nodiscard]] std::optional<control::VersionId> ReadPathVersion(HttpExchange& exchange,
                                                                std::string_view name);

}  // namespace sluice::api
