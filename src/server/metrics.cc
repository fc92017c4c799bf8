#include "server/metrics.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "match/rule_set.h"
#include "server/version.h"
#include "telemetry/metrics_page.h"
#include "telemetry/process_stats.h"

namespace sluice::server {
namespace {

using telemetry::Labeled;
using telemetry::MetricSink;
using telemetry::WriteMetrics;

std::chrono::sys_seconds Seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

struct RulesMetrics {
  std::uint64_t active = 0;
  std::chrono::sys_seconds loaded_at{};
  std::uint64_t without_series = 0;
  std::uint64_t loads = 0;
  std::uint64_t failed_loads = 0;

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = RulesMetrics;
    constexpr std::string_view kReloads = "rate_limiter_reloads_total";
    constexpr std::string_view kReloadsHelp = "Attempts to load rules, including the first.";
    return std::tuple{
        Metric{kGauge, "rate_limiter_rules_active", "Number of active rules.", &S::active},
        Metric{kGauge, "rate_limiter_rules_loaded_timestamp_seconds",
               "When the active rules were loaded.", &S::loaded_at},
        Metric{kCounter, "rate_limiter_rules_without_series_total",
               "Rules and limits loaded without a series of their own.", &S::without_series},
        Metric{kCounter, kReloads, kReloadsHelp, &S::loads, "result", "success"},
        Metric{kCounter, kReloads, kReloadsHelp, &S::failed_loads, "result", "failure"}};
  }
};

struct ControlStoreMetrics {
  bool up = false;
  std::uint64_t failed_reads = 0;
  std::uint64_t records = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t recoveries = 0;

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = ControlStoreMetrics;
    return std::tuple{
        Metric{kGauge, "rate_limiter_control_store_up",
               "1 if the last read of the control store succeeded.", &S::up},
        Metric{kGauge, "rate_limiter_control_store_failed_reads",
               "Reads of the control store that failed in a row.", &S::failed_reads},
        Metric{kGauge, "rate_limiter_records", "Records of this server: entries, tokens.",
               &S::records},
        Metric{kGauge, "rate_limiter_records_epoch", "Epoch of the records.", &S::epoch},
        Metric{kGauge, "rate_limiter_records_sequence",
               "Sequence number of the newest change of a record.", &S::sequence},
        Metric{kCounter, "rate_limiter_record_deliveries_total",
               "How often this server applied changes of records.", &S::deliveries},
        Metric{kCounter, "rate_limiter_record_recoveries_total",
               "How often this server restored records that the store had lost.", &S::recoveries}};
  }
};

struct LiveEntryMetrics {
  EnumArray<match::EntryKind, std::uint64_t> entries;

  static constexpr auto Metrics() {
    return std::tuple{Metric{MetricType::kGauge, "rate_limiter_entries",
                             "Live entries of this server, by the kind of their matchers.",
                             &LiveEntryMetrics::entries, "kind"}};
  }
};

struct RulesSourceMetrics {
  bool up = false;
  std::chrono::nanoseconds age{};
  std::uint64_t failed_reads = 0;
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
  bool rejected = false;
  std::uint64_t recoveries = 0;
  BucketCounts propagation{};

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = RulesSourceMetrics;
    return std::tuple{
        Metric{kGauge, "rate_limiter_rules_source_up",
               "1 if the last read of the store of the rules succeeded.", &S::up},
        Metric{kGauge, "rate_limiter_rules_source_age_seconds",
               "Time since the store of the rules was last read.", &S::age},
        Metric{kGauge, "rate_limiter_rules_source_failed_reads",
               "Reads of the store of the rules that failed in a row.", &S::failed_reads},
        Metric{kGauge, "rate_limiter_rules_source_epoch", "Epoch of the active version.",
               &S::epoch},
        Metric{kGauge, "rate_limiter_rules_source_version", "Number of the active version.",
               &S::number},
        Metric{kGauge, "rate_limiter_rules_source_rejected",
               "1 while this server can't use the current version.", &S::rejected},
        Metric{kCounter, "rate_limiter_rules_recoveries_total",
               "How often this server restored versions that the store had lost.", &S::recoveries},
        Metric{kHistogram, "rate_limiter_rules_propagation_seconds",
               "Time from a commit to its activation by this server.", &S::propagation}};
  }
};

struct EnvoyMetrics {
  std::uint64_t domains = 0;
  std::uint64_t limits = 0;
  std::chrono::sys_seconds loaded_at{};
  std::uint64_t loads = 0;
  std::uint64_t failed_loads = 0;

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = EnvoyMetrics;
    constexpr std::string_view kReloads = "rate_limiter_envoy_config_reloads_total";
    constexpr std::string_view kReloadsHelp =
        "Attempts to load the Envoy configuration, including the first.";
    return std::tuple{
        Metric{kGauge, "rate_limiter_envoy_config_domains", "Number of domains.", &S::domains},
        Metric{kGauge, "rate_limiter_envoy_config_limits", "Number of limits.", &S::limits},
        Metric{kGauge, "rate_limiter_envoy_config_loaded_timestamp_seconds",
               "When the active Envoy configuration was loaded.", &S::loaded_at},
        Metric{kCounter, kReloads, kReloadsHelp, &S::loads, "result", "success"},
        Metric{kCounter, kReloads, kReloadsHelp, &S::failed_loads, "result", "failure"}};
  }
};

struct CertificateMetrics {
  std::chrono::sys_seconds expires{};
  std::uint64_t reloads = 0;
  std::uint64_t failed_reloads = 0;

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = CertificateMetrics;
    constexpr std::string_view kReloads = "rate_limiter_tls_reloads_total";
    constexpr std::string_view kReloadsHelp = "Certificate reloads.";
    return std::tuple{
        Metric{kGauge, "rate_limiter_tls_certificate_expiry_timestamp_seconds",
               "When the certificate in use expires.", &S::expires},
        Metric{kCounter, kReloads, kReloadsHelp, &S::reloads, "result", "success"},
        Metric{kCounter, kReloads, kReloadsHelp, &S::failed_reloads, "result", "failure"}};
  }
};

struct ClockMetrics {
  std::chrono::nanoseconds offset{0};

  static constexpr auto Metrics() {
    return std::tuple{Metric{MetricType::kGauge, "rate_limiter_redis_clock_offset_seconds",
                             "How far Redis' clock is ahead of this server's.",
                             &ClockMetrics::offset}};
  }
};

struct LoadMetrics {
  bool successful = false;

  static constexpr auto Metrics() {
    return std::tuple{Metric{MetricType::kGauge, "rate_limiter_last_load_successful",
                             "1 if the files on disk were loaded, 0 while they are refused.",
                             &LoadMetrics::successful}};
  }
};

struct ServerMetrics {
  EnumArray<limiter::Enforcement, std::uint64_t> enforcement{};
  bool ready = false;
  std::uint64_t threads = 0;

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = ServerMetrics;
    return std::tuple{
        Metric{kGauge, "rate_limiter_enforcement", "1 for the active mode.", &S::enforcement,
               "mode"},
        Metric{kGauge, "rate_limiter_ready", "1 while /readyz returns 200.", &S::ready},
        Metric{kGauge, "rate_limiter_threads", "Event loops.", &S::threads}};
  }
};

void WriteLoops(MetricSink& sink, const Shared& shared, std::span<const Worker* const> workers) {
  api::CallCounters calls;
  limiter::DecisionCounters decisions;
  limiter::EntryCounters entries;
  telemetry::SeriesTotals<limiter::LimitCounters> limits(shared.limit_series);
  telemetry::SeriesTotals<limiter::RuleCounters> rules(shared.rule_series);
  for (const Worker* worker : workers) {
    const LoopCounters& counters = worker->loop_counters();
    calls += counters.calls;
    decisions += counters.decisions;
    entries += counters.entries;
    limits.Add(counters.limits);
    rules.Add(counters.rules);
  }
  WriteMetrics(sink, calls);
  WriteMetrics(sink, limits.Read());
  WriteMetrics(sink, rules.Read());
  WriteMetrics(sink, decisions);
  WriteMetrics(sink, entries);
}

store::RequestKeys RequestKeysOf(const Shared& shared, const store::MemoryStoreStats& memory) {
  if (shared.caller_keys) {
    return {shared.caller_keys->Count(TheSystemClock().Now()), shared.caller_keys->bound()};
  }
  if (shared.redis) return {};
  return {memory.caller_keys, memory.max_caller_keys};
}

void WriteStore(MetricSink& sink, const Shared& shared, std::span<const Worker* const> workers) {
  const store::MemoryStoreStats memory = shared.memory->StatsApprox();
  WriteMetrics(sink, memory);
  WriteMetrics(sink, RequestKeysOf(shared, memory));
  if (!shared.redis) return;
  redis::Stats redis;
  store::RedisStoreStats store;
  for (const Worker* worker : workers) {
    redis += worker->RedisStatsApprox();
    store += worker->StoreStatsApprox();
  }
  WriteMetrics(sink, redis);
  WriteMetrics(sink, store);
  const Micros ahead = shared.settings.store_clock_ahead.load(std::memory_order_relaxed);
  WriteMetrics(sink, ClockMetrics{.offset = ahead});
  WriteMetrics(sink, shared.leases->denials);
  telemetry::SeriesTotals<lease::TableStats> leases(shared.limit_series);
  leases.Add(shared.leases->table.StatsBySeriesApprox());
  WriteMetrics(sink, leases.Read(/*only_counted=*/true));
}

// All but what files were loaded from.
void WriteListeners(MetricSink& sink, std::span<const ListenerGroupFigures> groups) {
  std::vector<Labeled<transport::ConnectionCounters>> connections;
  std::vector<Labeled<transport::TlsCounters>> tls;
  std::vector<Labeled<CertificateMetrics>> certificates;
  std::vector<CertificateMetrics> values;
  values.reserve(groups.size());  // Which are pointed to.
  for (const ListenerGroupFigures& group : groups) {
    const std::vector<Label> protocol = {{"protocol", group.protocol}};
    connections.push_back({protocol, &group.connections});
    const LiveStatus status = group.certificate->Status();
    if (status.version == 0) continue;
    tls.push_back({protocol, &group.connections.tls});
    values.push_back({.expires = Seconds(group.certificate->Active().value->expires()),
                      .reloads = status.good_loads - 1,  // The first was no reload.
                      .failed_reloads = status.failed_loads});
    certificates.push_back({protocol, &values.back()});
  }
  WriteMetrics(sink, connections);
  WriteMetrics(sink, tls);
  WriteMetrics(sink, certificates);
}

void WriteRules(MetricSink& sink, const Shared& shared) {
  const LiveVersion<match::RuleSet> active = shared.rules.Active();
  const LiveStatus status = shared.rules.Status();
  sink.Family("rate_limiter_rules_info", MetricType::kInfo, "The active rules.");
  sink.Sample({{"version", std::to_string(active.number)}, {"hash", active.fingerprint}},
              std::uint64_t{1});
  WriteMetrics(sink, RulesMetrics{.active = active.value ? active.value->file().rules.size() : 0,
                                  .loaded_at = Seconds(status.last_good_load),
                                  .without_series = shared.rule_series.overflowed() +
                                                    shared.limit_series.overflowed(),
                                  .loads = status.good_loads,
                                  .failed_loads = status.failed_loads});
}

void WriteRulesSource(MetricSink& sink, const ControlPlane& control) {
  const control::SyncStats stats = control.Stats();
  WriteMetrics(sink, RulesSourceMetrics{.up = stats.up,
                                        .age = SteadyClock::Now() -
                                               stats.last_good_read.value_or(control.started()),
                                        .failed_reads = stats.consecutive_failures,
                                        .epoch = stats.active.id.epoch,
                                        .number = stats.active.id.number,
                                        .rejected = stats.rejected.id.number > 0,
                                        .recoveries = stats.restores + control.repairs(),
                                        .propagation = {.ends = control::PropagationTimes::kBounds,
                                                        .counts = stats.propagation.counts,
                                                        .sum = stats.propagation.sum}});
}

void WriteControlStore(MetricSink& sink, const ControlPlane& control) {
  const control::SyncStats stats = control.Stats();
  WriteMetrics(sink, ControlStoreMetrics{.up = stats.up && stats.records.up,
                                         .failed_reads = stats.consecutive_failures,
                                         .records = stats.records.records,
                                         .epoch = stats.records.cursor.epoch,
                                         .sequence = stats.records.cursor.sequence,
                                         .deliveries = stats.records.deliveries,
                                         .recoveries = stats.records.restores});
  LiveEntryMetrics live;
  const match::EntryCounts counts = control.entries().Counts();
  for (std::size_t i = 0; i < live.entries.values.size(); ++i) {
    live.entries.values[i] = counts.by_kind.values[i];
  }
  WriteMetrics(sink, live);
}

void WriteEnvoy(MetricSink& sink, const Shared& shared) {
  const LiveVersion<envoy::Config> active = shared.envoy.Active();
  const LiveStatus status = shared.envoy.Status();
  sink.Family("rate_limiter_envoy_config_info", MetricType::kInfo,
              "The active Envoy configuration.");
  sink.Sample({{"version", std::to_string(active.number)}, {"hash", active.fingerprint}},
              std::uint64_t{1});
  WriteMetrics(sink, EnvoyMetrics{.domains = active.value ? active.value->domains().size() : 0,
                                  .limits = active.value ? active.value->nodes().size() : 0,
                                  .loaded_at = Seconds(status.last_good_load),
                                  .loads = status.good_loads,
                                  .failed_loads = status.failed_loads});
}

void WriteLastLoads(MetricSink& sink, const Shared& shared,
                    std::span<const ListenerGroupFigures> groups) {
  static constexpr LoadMetrics kSuccessful{.successful = true};
  static constexpr LoadMetrics kFailing{.successful = false};
  std::vector<Labeled<LoadMetrics>> all;
  const auto add = [&](std::string_view config, const LiveStatus& status) {
    if (status.version == 0) return;
    all.push_back({{{"config", config}}, status.failing ? &kFailing : &kSuccessful});
  };
  add("rules", shared.rules.Status());
  add("envoy_config", shared.envoy.Status());
  add("identity", shared.identity.Status());
  for (const ListenerGroupFigures& group : groups) {
    add(group.tls_section, group.certificate->Status());
  }
  WriteMetrics(sink, all);
}

}  // namespace

void WriteServerMetrics(const Shared& shared, std::span<const Worker* const> workers,
                        std::span<const ListenerGroupFigures> groups, const ControlPlane& control,
                        const InsightMetrics& insight, const PenaltyMetrics& penalties,
                        const ExportFigures& exported, MetricSink& sink) {
  WriteLoops(sink, shared, workers);
  WriteStore(sink, shared, workers);
  WriteListeners(sink, groups);
  WriteRules(sink, shared);
  if (control.has_rules()) WriteRulesSource(sink, control);
  WriteControlStore(sink, control);
  if (!shared.config.envoy.config.empty()) WriteEnvoy(sink, shared);
  WriteLastLoads(sink, shared, groups);
  ServerMetrics server{.ready = !shared.draining.load() && shared.rules.Status().version > 0,
                       .threads = workers.size()};
  server.enforcement[shared.settings.enforcement.load(std::memory_order_relaxed)] = 1;
  WriteMetrics(sink, server);
  WriteMetrics(sink, insight);
  WriteMetrics(sink, penalties);
  if (exported.otlp) WriteMetrics(sink, *exported.otlp);
  if (exported.statsd) WriteMetrics(sink, *exported.statsd);
  WriteMetrics(sink, shared.log);
  sink.Family("rate_limiter_build_info", MetricType::kInfo, "The build of this server.");
  sink.Sample({{"version", kVersion}, {"revision", ""}, {"compiler", __VERSION__}},
              std::uint64_t{1});
  if (const auto process = telemetry::ReadProcess()) WriteMetrics(sink, *process);
  sink.End();
}

}  // namespace sluice::server
