#include "server/administration.h"

#include "base/clock.h"
#include "server/worker.h"

namespace sluice::server {

api::Condition RedisCondition(const std::vector<std::unique_ptr<Worker>>& workers) {
  std::size_t connected = 0;
  std::size_t open = 0;
  for (const auto& worker : workers) {
    const redis::Stats stats = worker->RedisStatsApprox();
    if (stats.state == redis::State::kReady) ++connected;
    open += stats.breakers_open + stats.breakers_half_open;
  }
  std::string detail = std::to_string(connected) + " of " + std::to_string(workers.size()) +
                       " event loops connected";
  if (open > 0) detail += "; circuit breakers that are not closed: " + std::to_string(open);
  return {.name = "redis", .ok = connected == workers.size() && open == 0, .detail = detail};
}

std::string BreakerState(const std::vector<std::unique_ptr<Worker>>& workers) {
  std::size_t open = 0;
  std::size_t half_open = 0;
  for (const auto& worker : workers) {
    const redis::Stats stats = worker->RedisStatsApprox();
    open += stats.breakers_open;
    half_open += stats.breakers_half_open;
  }
  return open > 0 ? "open" : half_open > 0 ? "half_open" : "closed";
}

Administration::Administration(net::Loop& loop, const ServerParts& parts)
    : loop_(loop), parts_(parts) {
  if (parts.authority != nullptr) rule_tasks_.emplace(*parts.authority, loop);
}

bool Administration::has_admin_token() const { return parts_.shared.admin_token->has_token(); }

api::Login Administration::CheckToken(std::string_view token, const std::optional<Address>& from,
                                      identity::Lockout lockout) {
  return {.verdict = parts_.shared.admin_token->Check(token, from, lockout, SteadyClock::Now()),
          .principal = identity::BootstrapPrincipal()};
}

limiter::Enforcement Administration::enforcement() const {
  return parts_.shared.settings.enforcement.load(std::memory_order_relaxed);
}

void Administration::SetEnforcement(limiter::Enforcement enforcement) {
  parts_.shared.settings.enforcement.store(enforcement, std::memory_order_relaxed);
  parts_.shared.log.Write(telemetry::LogLevel::kWarn, "enforcement switched",
                          {{"to", LabelOf(enforcement)}});
}

bool Administration::SetLogLevel(std::string_view level) {
  for (const auto known : {telemetry::LogLevel::kError, telemetry::LogLevel::kWarn,
                           telemetry::LogLevel::kInfo, telemetry::LogLevel::kDebug}) {
    if (LabelOf(known) != level) continue;
    parts_.shared.log.set_level(known);
    return true;
  }
  return false;
}

std::string_view Administration::log_level() const { return LabelOf(parts_.shared.log.level()); }

void Administration::MakeMetrics(api::MetricsFormat format, MetricsDone done) {
  parts_.metrics_work.Ask(format, loop_, std::move(done));
}

void Administration::ReloadRules(RulesDone done) {
  parts_.rules_work.Ask({}, loop_, std::move(done));
}

void Administration::RollBackRules(std::uint64_t version, control::Origin origin, RulesDone done) {
  parts_.rules_work.Ask({.roll_back_to = version, .origin = std::move(origin)}, loop_,
                        std::move(done));
}

void Administration::Audit(control::Origin origin, std::string action, std::string target) {
  if (parts_.authority == nullptr) return;
  parts_.authority->Audit(std::move(origin), std::move(action), std::move(target));
}

api::Health Administration::CheckHealth() {
  const auto loaded = [](const char* name, const LiveStatus& status, const std::string& content) {
    return api::Condition{
        .name = name,
        .ok = !status.failing,
        .detail = "version " + std::to_string(status.version) + content +
                  (status.failing ? "; the last reload failed, keeping this version" : "")};
  };
  api::Health health;
  health.conditions.push_back(loaded("rules", parts_.shared.rules.Status(), {}));
  if (parts_.authority != nullptr) health.conditions.push_back(parts_.authority->Condition());
  if (const auto envoy = parts_.shared.envoy.Active().value) {
    health.conditions.push_back(loaded("envoy_config", parts_.shared.envoy.Status(),
                                       ", domains: " + std::to_string(envoy->domains().size())));
  }
  if (parts_.shared.redis) {
    health.conditions.push_back(RedisCondition(parts_.workers));
    const bool fast = !parts_.store_speed.is_slow();
    health.conditions.push_back({.name = "redis_latency",
                                 .ok = fast,
                                 .detail = fast ? "" : "over 5 ms for one call in a hundred"});
    if (parts_.shared.caller_keys) health.conditions.push_back(RequestKeysCondition());
  } else {
    health.conditions.push_back(MemoryCondition());
  }
  const std::size_t most = parts_.admission.limits().connections;
  health.conditions.push_back({.name = "connections",
                               .ok = most == 0 || parts_.admission.size() < most,
                               .detail = std::to_string(parts_.admission.size()) +
                                         (most == 0 ? "" : " of " + std::to_string(most))});
  health.conditions.push_back(ConnectionMemoryCondition());
  const bool draining = parts_.shared.draining.load();
  health.conditions.push_back(
      {.name = "accepting", .ok = !draining, .detail = draining ? "the server is draining" : ""});
  health.ready = !draining && parts_.shared.rules.Status().version > 0;
  return health;
}

api::Condition Administration::MemoryCondition() const {
  const store::MemoryStoreStats stats = parts_.shared.memory->StatsApprox();
  std::string detail = std::to_string(stats.keys) + " of " + std::to_string(stats.max_keys) +
                       " keys, " + std::to_string(stats.caller_keys) + " of " +
                       std::to_string(stats.max_caller_keys) + " for limits in requests, " +
                       std::to_string(stats.bytes) + " bytes";
  if (stats.max_bytes > 0) detail += " of " + std::to_string(stats.max_bytes);
  const bool full = parts_.memory_room.is_full() || stats.keys >= stats.max_keys ||
                    (stats.max_caller_keys > 0 && stats.caller_keys >= stats.max_caller_keys);
  if (full) detail += "; full: " + std::to_string(stats.refused) + " calls had no room";
  return {.name = "memory", .ok = !full, .detail = detail};
}

api::Condition Administration::RequestKeysCondition() const {
  const std::size_t keys = parts_.shared.caller_keys->Count(TheSystemClock().Now());
  std::string detail = std::to_string(keys) + " of " +
                       std::to_string(parts_.shared.caller_keys->bound()) +
                       " keys made for limits in requests";
  const bool full =
      parts_.request_keys_room.is_full() || keys >= parts_.shared.caller_keys->bound();
  if (full) {
    detail +=
        "; full: " + std::to_string(parts_.shared.caller_keys->refused()) + " calls were refused";
  }
  return {.name = "request_keys", .ok = !full, .detail = detail};
}

api::Condition Administration::ConnectionMemoryCondition() const {
  std::string detail = std::to_string(parts_.memory.used()) + " of " +
                       std::to_string(parts_.memory.most()) + " bytes (limits.memory)";
  if (parts_.memory.is_short()) detail += "; clients that hold much are not read from";
  return {
      .name = "connection_memory", .ok = !parts_.memory.is_short(), .detail = std::move(detail)};
}

std::vector<std::pair<std::string, std::uint64_t>> Administration::StoreNumbers() {
  const store::MemoryStoreStats memory = parts_.shared.memory->StatsApprox();
  return {{"keys", memory.keys},
          {"bytes", memory.bytes},
          {"expired", memory.expired},
          {"refused", memory.refused}};
}

}  // namespace sluice::server
