#include "api/admin/control_json.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "control/rule_service.h"

namespace sluice::api {

void RunListNodes(HttpExchange& exchange) {
  RunTask(exchange, TaskKind::kRead, [](ControlServices& services) {
    const auto nodes = services.rules.ListNodes();
    if (!nodes) return ReplyWith(nodes.error());
    TaskReply reply;
    JsonWriter json(reply.body);
    AppendNodes(*nodes, json);
    return reply;
  });
}

}  // namespace sluice::api
