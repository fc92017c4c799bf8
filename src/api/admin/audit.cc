#include <optional>

#include "api/admin/control_json.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/parse_number.h"
#include "base/url.h"
#include "control/rule_service.h"

/// The audit log: /admin/v1/audit.
namespace sluice::api {
namespace {

constexpr std::string_view kJsonLinesType = "application/x-ndjson";
constexpr std::size_t kUsualAuditRecords = 100;

struct AuditRange {
  std::uint64_t before = 0;
  std::size_t limit = kUsualAuditRecords;
};

std::optional<AuditRange> ReadAuditRange(HttpExchange& exchange) {
  const std::string_view query = exchange.request.query;
  QueryParameters parameter(query, exchange.loop.Room(query.size()));
  AuditRange range;
  while (parameter.Next()) {
    const auto number = ParseNumber<std::uint64_t>(parameter.value());
    if (parameter.name() == "before" && number && *number > 0) {
      range.before = *number;
    } else if (parameter.name() == "limit" && number && *number > 0 &&
               *number <= control::kMaxAuditRecordsRead) {
      range.limit = *number;
    } else {
      exchange.Refuse({.code = ProblemCode::kInvalidParameter,
                       .field = std::string(parameter.name()),
                       .detail = "the query may have before=<sequence> and limit=<1 to 1000>"});
      return std::nullopt;
    }
  }
  if (!parameter.failed()) return range;
  exchange.Refuse(
      {.code = ProblemCode::kInvalidParameter, .detail = "the query has invalid percent-encoding"});
  return std::nullopt;
}

}  // namespace

void RunReadAudit(HttpExchange& exchange) {
  const auto range = ReadAuditRange(exchange);
  if (!range) return;
  RunTask(exchange, TaskKind::kRead, [range = *range](ControlServices& services) {
    const auto records = services.rules.ReadAudit(range.before, range.limit);
    if (!records) return ReplyWith(records.error());
    TaskReply reply;
    reply.content_type = kJsonLinesType;
    for (const control::AuditRecord& record : *records) {
      JsonWriter json(reply.body);
      AppendAuditRecord(record, json);
      reply.body += '\n';
    }
    return reply;
  });
}

}  // namespace sluice::api
