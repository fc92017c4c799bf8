#include "server/metrics.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "rules/rule_set.h"
#include "server/version.h"
#include "telemetry/metrics_page.h"
#include "telemetry/metrics_snapshot.h"
#include "telemetry/process_stats.h"

namespace sluice::server {
namespace {

using telemetry::Bound;
using telemetry::MetricsSnapshot;
using telemetry::Protocol;
using telemetry::Refusal;

void AddConnections(const ConnectionTotals& from, Protocol protocol, telemetry::LoopTotals& to) {
  to.connections[protocol] += static_cast<std::int64_t>(from.open());
  to.accepted[protocol] += from.accepted;
  auto& refused = to.refused[protocol];
  refused[Refusal::kMaxConnections] += from.refused_total;
  refused[Refusal::kMaxPerAddress] += from.refused_per_address;
  refused[Refusal::kNoDescriptors] += from.fd_limit;
  auto& bounds = to.bounds_exceeded[protocol];
  bounds[Bound::kIdle] += from.idle_closed;
  bounds[Bound::kSlowRequest] += from.slow_closed;
  bounds[Bound::kOutputBuffer] += from.output_overflow;
  to.protocol_errors[protocol] += from.bad_proxy_header;
}

telemetry::KeysSnapshot KeysOf(const store::MemoryStore& memory) {
  const store::MemoryStoreStats stats = memory.StatsApprox();
  return {.active = stats.keys,
          .bytes = stats.bytes,
          .evicted = 0,  // Keys that matter never are.
          .expired = stats.expired,
          .refused = stats.refused};
}

telemetry::RedisSnapshot RedisOf(std::span<const Worker* const> workers) {
  telemetry::RedisSnapshot sum;
  for (const Worker* worker : workers) {
    const redis::Stats stats = worker->RedisStatsApprox();
    sum.connected += stats.connected;
    sum.connects += stats.connects;
    sum.connect_failures += stats.connect_failures;
    sum.disconnects += stats.disconnects;
    sum.calls += stats.calls;
    sum.late_replies += stats.late_replies;
    sum.in_flight += stats.in_flight;
    sum.breakers_closed += stats.breakers_closed;
    sum.breakers_open += stats.breakers_open;
    sum.breakers_half_open += stats.breakers_half_open;
    sum.breaker_opened += stats.breaker_opened;
    sum.script_reloads += worker->StoreStatsApprox().reloads;
    sum.given_back += worker->StoreStatsApprox().given_back;
  }
  return sum;
}

std::vector<telemetry::LeaseTotals> LeasesOf(const Shared& shared) {
  const std::vector<lease::TableStats> by_series = shared.leases->table.StatsBySeriesApprox();
  if (by_series.empty()) return {};
  const std::vector<telemetry::RuleIds::Name> names = shared.rule_ids.Names();
  std::vector<telemetry::LeaseTotals> all;
  for (std::size_t i = 0; i < std::min(by_series.size(), names.size()); ++i) {
    const lease::TableStats& stats = by_series[i];
    if (stats.fetches == 0) continue;
    telemetry::LeaseTotals& totals = all.emplace_back();
    totals.rule = names[i].rule;
    totals.algorithm = names[i].algorithm;
    totals.from_memory[telemetry::Allowed::kYes] = stats.hits;
    totals.from_memory[telemetry::Allowed::kNo] = stats.denials;
    totals.fetches = stats.fetches;
    totals.granted = stats.granted;
    totals.returned = stats.returned;
    totals.recalled = stats.recalled;
    totals.expired = stats.expired;
    totals.missed = stats.missed;
    totals.outstanding = stats.outstanding;
    totals.keys = stats.keys;
  }
  return all;
}

telemetry::TlsSnapshot TlsOf(const EntranceFigures& entrance) {
  const TlsFiles& files = *entrance.tls;
  return {.protocol = entrance.protocol,
          .handshakes = entrance.connections.handshakes,
          .broken = entrance.connections.tls_broken,
          .certificate_expires =
              std::chrono::sys_seconds(std::chrono::seconds(files.expires_seconds())),
          .reloads_succeeded = files.good_reloads(),
          .reloads_failed = files.failed_reloads()};
}

telemetry::RulesSnapshot RulesOf(const Shared& shared) {
  const rules::RulesStatus status = shared.rules.Status();
  return {.version = std::to_string(status.active.number),
          .hash = status.active.fingerprint,
          .active = status.active.rules ? status.active.rules->file().rules.size() : 0,
          .overflowed = shared.rule_ids.overflowed(),
          .loaded_at = std::chrono::floor<std::chrono::seconds>(status.last_good_load),
          .reloads_succeeded = status.good_loads,
          .reloads_failed = status.failed_loads};
}

telemetry::Enforcement EnforcementOf(const Shared& shared) {
  switch (shared.settings.enforcement.load(std::memory_order_relaxed)) {
    case limiter::Enforcement::kShadow:
      return telemetry::Enforcement::kShadow;
    case limiter::Enforcement::kOff:
      return telemetry::Enforcement::kOff;
    default:
      return telemetry::Enforcement::kOn;
  }
}

}  // namespace

void AppendServerMetrics(const Shared& shared, std::span<const Worker* const> workers,
                         std::span<const EntranceFigures> entrances, api::MetricsFormat format,
                         std::string& out) {
  MetricsSnapshot snapshot;
  std::vector<const telemetry::LoopCounters*> loops;
  for (const Worker* worker : workers) loops.push_back(&worker->counters());
  ReadLoops(shared.rule_ids, loops, snapshot);
  for (const EntranceFigures& entrance : entrances) {
    AddConnections(entrance.connections, entrance.protocol, snapshot.loops);
    if (entrance.tls != nullptr) snapshot.tls.push_back(TlsOf(entrance));
  }
  snapshot.keys = KeysOf(*shared.memory);
  if (shared.redis) snapshot.redis = RedisOf(workers);
  if (shared.leases) snapshot.leases = LeasesOf(shared);
  snapshot.rules = RulesOf(shared);
  snapshot.enforcement = EnforcementOf(shared);
  snapshot.ready = !shared.draining.load();
  snapshot.threads = workers.size();
  snapshot.build = {.version = std::string(kVersion), .revision = {}, .compiler = __VERSION__};
  snapshot.process = telemetry::ReadProcess();
  snapshot.log = {.lines = shared.log.Lines(), .dropped = shared.log.dropped()};
  AppendMetricsPage(snapshot,
                    format == api::MetricsFormat::kOpenMetrics
                        ? telemetry::MetricsFormat::kOpenMetrics
                        : telemetry::MetricsFormat::kPrometheus,
                    shared.labels, out);
}

}  // namespace sluice::server
