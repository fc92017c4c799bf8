#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/admin/admin_services.h"
#include "api/admin/audit_trail.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "base/url.h"
#include "control/rule_service.h"
#include "match/rule_set.h"
#include "simulate/trace_writer.h"
#include "simulate/traffic_sampler.h"

/// The sample of recent calls: /admin/v1/traffic.
namespace sluice::api {
namespace {

// A response is held in memory until the client has read it. The newest calls are kept.
constexpr std::size_t kMostTraceBytes = std::size_t{8} << 20;

std::optional<simulate::KeyText> ReadKeyText(HttpExchange& exchange) {
  const std::string_view query = exchange.request.query;
  if (query.empty() || query == "keys=hashed") return simulate::KeyText::kHashed;
  if (query == "keys=plain") return simulate::KeyText::kPlain;
  exchange.Refuse({.code = ProblemCode::kInvalidParameter,
                   .field = "keys",
                   .detail = "the query may be keys=hashed or keys=plain"});
  return std::nullopt;
}

}  // namespace

void RunGetTraffic(HttpExchange& exchange) {
  const auto keys = ReadKeyText(exchange);
  if (!keys) return;
  if (*keys == simulate::KeyText::kPlain && !exchange.principal().Has(Role::kAdmin)) {
    return exchange.Refuse({.code = ProblemCode::kForbidden,
                            .field = "keys",
                            .detail = "keys=plain needs the role admin"});
  }
  RunRuleTask(
      exchange, TaskKind::kRead,
      [keys = *keys, now = exchange.services().now(),
       rules = exchange.admin().rules().Active().value,
       origin = exchange.Origin()](ControlServices& services) {
        if (services.traffic == nullptr) {
          return ReplyWith(Problem{.code = ProblemCode::kNotFound,
                                   .detail = "calls are not sampled: control.traffic_sample"});
        }
        if (keys == simulate::KeyText::kPlain) {
          const auto record = services.rules.AppendAudit(origin, "traffic.export", "keys=plain");
          if (!record) return ReplyWith(record.error());
        }
        TaskReply reply;
        reply.content_type = "application/x-ndjson";
        reply.body =
            simulate::WriteTrace(services.traffic->Take(now), {.keys = keys, .rules = rules.get()});
        if (reply.body.size() > kMostTraceBytes) {
          const std::size_t cut = reply.body.find('\n', reply.body.size() - kMostTraceBytes);
          reply.body.erase(0, cut + 1);
        }
        return reply;
      });
}

}  // namespace sluice::api
