#include "telemetry/metrics_page.h"

namespace sluice::telemetry {
namespace {

using enum MetricType;

// A sample for each member of an enum.
template <typename Enum, typename Value>
void EachOf(PrometheusText& text, std::string_view label, const By<Enum, Value>& values) {
  for (std::size_t i = 0; i < values.kSize; ++i) {
    text.Sample({{label, kLabels<Enum>[i]}}, values.values[i]);
  }
}

// A sample for each pair of members.
template <typename Outer, typename Inner, typename Value>
void EachOf(PrometheusText& text, std::string_view outer, std::string_view inner,
            const By<Outer, By<Inner, Value>>& values) {
  for (std::size_t i = 0; i < values.kSize; ++i) {
    for (std::size_t k = 0; k < values.values[i].kSize; ++k) {
      text.Sample({{outer, kLabels<Outer>[i]}, {inner, kLabels<Inner>[k]}},
                  values.values[i].values[k]);
    }
  }
}

void One(PrometheusText& text, std::string_view name, MetricType type, std::string_view help,
         auto value) {
  text.Family(name, type, help);
  text.Sample({}, value);
}

void WriteCalls(PrometheusText& text, const LoopTotals& loops) {
  text.Family("rate_limiter_calls_total", kCounter, "Calls by what became of them.");
  EachOf(text, "protocol", "outcome", loops.calls);
  text.Family("rate_limiter_list_hits_total", kCounter, "Calls that the allow or deny list met.");
  EachOf(text, "list", loops.list_hits);
  text.Family("rate_limiter_degraded_decisions_total", kCounter,
              "Decisions made without the store because it failed, by the rule's failure mode.");
  EachOf(text, "mode", loops.degraded);
}

void WriteRequests(PrometheusText& text, const std::vector<RuleTotals>& requests) {
  text.Family("rate_limiter_requests_total", kCounter,
              "Limits that calls met, by whether the limit let the call pass.");
  for (const RuleTotals& rule : requests) {
    for (const Allowed allowed : {Allowed::kNo, Allowed::kYes}) {
      text.Sample({{"rule", rule.rule},
                   {"algorithm", LabelOf(rule.algorithm)},
                   {"allowed", LabelOf(allowed)}},
                  rule.requests[allowed]);
    }
  }
  text.Family("rate_limiter_shadow_denials_total", kCounter,
              "Limits in shadow mode that would have denied a call.");
  for (const RuleTotals& rule : requests) {
    text.Sample({{"rule", rule.rule}, {"algorithm", LabelOf(rule.algorithm)}}, rule.shadow_denials);
  }
}

void WriteTimes(PrometheusText& text, const LoopTotals& loops) {
  text.Family("rate_limiter_check_seconds", kHistogram,
              "Time from a request's bytes to its decision; sampled.");
  EachOf(text, "algorithm", "allowed", loops.check_times);
  text.Family("rate_limiter_storage_seconds", kHistogram,
              "Time from asking the store to its answer.");
  text.Sample({}, loops.storage_times);
  text.Family("rate_limiter_storage_errors_total", kCounter,
              "Calls that the store did not answer as asked.");
  EachOf(text, "error_type", loops.storage_errors);
}

void WriteKeys(PrometheusText& text, const KeysSnapshot& keys) {
  One(text, "rate_limiter_active_keys", kGauge, "Keys held in memory.", keys.active);
  One(text, "rate_limiter_storage_bytes", kGauge, "Memory that keys occupy.", keys.bytes);
  One(text, "rate_limiter_evictions_total", kCounter, "Keys dropped though they mattered.",
      keys.evicted);
  One(text, "rate_limiter_expired_keys_total", kCounter,
      "Keys dropped because they were as if never used.", keys.expired);
  One(text, "rate_limiter_refused_keys_total", kCounter, "New keys for which there was no room.",
      keys.refused);
}

void WriteRedis(PrometheusText& text, const RedisSnapshot& redis) {
  One(text, "rate_limiter_redis_connections", kGauge, "Connections on which Redis let us in.",
      redis.connected);
  One(text, "rate_limiter_redis_connects_total", kCounter, "Connections made to Redis.",
      redis.connects);
  One(text, "rate_limiter_redis_connect_failures_total", kCounter,
      "Attempts to connect to Redis that failed.", redis.connect_failures);
  One(text, "rate_limiter_redis_disconnects_total", kCounter, "Connections to Redis that ended.",
      redis.disconnects);
  One(text, "rate_limiter_redis_calls_total", kCounter, "Commands given to Redis.", redis.calls);
  One(text, "rate_limiter_redis_script_reloads_total", kCounter,
      "Times that Redis had forgotten the script.", redis.script_reloads);
  One(text, "rate_limiter_redis_given_back_total", kCounter,
      "Shares of limits that were taken and given back because another slot of a cluster denied.",
      redis.given_back);
  One(text, "rate_limiter_redis_late_replies_total", kCounter,
      "Replies to commands that had timed out.", redis.late_replies);
  One(text, "rate_limiter_redis_in_flight", kGauge, "Commands that wait for a reply.",
      redis.in_flight);
  text.Family("rate_limiter_redis_breaker_state", kGauge,
              "Circuit breakers in each state; every event loop has one for each Redis server.");
  text.Sample({{"state", "closed"}}, redis.breakers_closed);
  text.Sample({{"state", "open"}}, redis.breakers_open);
  text.Sample({{"state", "half_open"}}, redis.breakers_half_open);
  One(text, "rate_limiter_redis_breaker_opened_total", kCounter,
      "Times that a circuit breaker opened.", redis.breaker_opened);
}

void WriteLeases(PrometheusText& text, const std::vector<LeaseTotals>& leases) {
  text.Family("rate_limiter_lease_hits_total", kCounter,
              "Checks that were decided from memory, by what was decided.");
  for (const LeaseTotals& rule : leases) {
    for (const Allowed allowed : {Allowed::kNo, Allowed::kYes}) {
      text.Sample({{"rule", rule.rule},
                   {"algorithm", LabelOf(rule.algorithm)},
                   {"allowed", LabelOf(allowed)}},
                  rule.from_memory[allowed]);
    }
  }
  const auto each = [&](std::string_view name, MetricType type, std::string_view help,
                        auto LeaseTotals::* value) {
    text.Family(name, type, help);
    for (const LeaseTotals& rule : leases) {
      text.Sample({{"rule", rule.rule}, {"algorithm", LabelOf(rule.algorithm)}}, rule.*value);
    }
  };
  each("rate_limiter_lease_fetches_total", kCounter, "Requests for leases.", &LeaseTotals::fetches);
  each("rate_limiter_lease_granted_tokens_total", kCounter, "Tokens that were leased.",
       &LeaseTotals::granted);
  each("rate_limiter_lease_returned_tokens_total", kCounter,
       "Tokens given back because they were idle, or their time was over.", &LeaseTotals::returned);
  each("rate_limiter_lease_recalled_tokens_total", kCounter,
       "Tokens given back because another server needed them.", &LeaseTotals::recalled);
  each("rate_limiter_lease_expired_tokens_total", kCounter, "Tokens that lapsed unused.",
       &LeaseTotals::expired);
  each("rate_limiter_lease_missed_tokens_total", kCounter,
       "Tokens of scarce keys that were not used in time: what could not be allowed, about.",
       &LeaseTotals::missed);
  each("rate_limiter_lease_outstanding_tokens", kGauge, "Tokens held now.",
       &LeaseTotals::outstanding);
  each("rate_limiter_lease_keys", kGauge, "Keys that are remembered.", &LeaseTotals::keys);
}

void WriteConnections(PrometheusText& text, const LoopTotals& loops) {
  text.Family("rate_limiter_connections", kGauge, "Connections of clients that are open.");
  EachOf(text, "protocol", loops.connections);
  text.Family("rate_limiter_connections_accepted_total", kCounter, "Connections accepted.");
  EachOf(text, "protocol", loops.accepted);
  text.Family("rate_limiter_connections_refused_total", kCounter, "Connections not accepted.");
  EachOf(text, "protocol", "reason", loops.refused);
  text.Family("rate_limiter_bounds_exceeded_total", kCounter,
              "Clients that were too slow, too large or too many requests ahead.");
  EachOf(text, "protocol", "bound", loops.bounds_exceeded);
  text.Family("rate_limiter_protocol_errors_total", kCounter,
              "Requests that broke the rules of their protocol.");
  EachOf(text, "protocol", loops.protocol_errors);
}

void WriteTls(PrometheusText& text, const std::vector<TlsSnapshot>& tls) {
  text.Family("rate_limiter_tls_handshakes_total", kCounter, "TLS handshakes by how they went.");
  for (const TlsSnapshot& one : tls) {
    for (std::size_t i = 0; i < one.handshakes.kSize; ++i) {
      text.Sample({{"protocol", LabelOf(one.protocol)}, {"result", kLabels<TlsHandshake>[i]}},
                  one.handshakes.values[i]);
    }
  }
  text.Family("rate_limiter_tls_broken_total", kCounter,
              "Connections cut after their handshake because what came was not right.");
  for (const TlsSnapshot& one : tls) {
    text.Sample({{"protocol", LabelOf(one.protocol)}}, one.broken);
  }
  text.Family("rate_limiter_tls_certificate_expiry_timestamp_seconds", kGauge,
              "When the certificate in use stops being good.");
  for (const TlsSnapshot& one : tls) {
    text.Sample({{"protocol", LabelOf(one.protocol)}},
                static_cast<std::int64_t>(one.certificate_expires.time_since_epoch().count()));
  }
  text.Family("rate_limiter_tls_reloads_total", kCounter,
              "Attempts to load the files of TLS again.");
  for (const TlsSnapshot& one : tls) {
    const std::string_view protocol = LabelOf(one.protocol);
    text.Sample({{"protocol", protocol}, {"result", "success"}}, one.reloads_succeeded);
    text.Sample({{"protocol", protocol}, {"result", "failure"}}, one.reloads_failed);
  }
}

void WriteRules(PrometheusText& text, const RulesSnapshot& rules) {
  text.Family("rate_limiter_rules_info", kInfo, "The active rules.");
  text.Sample({{"version", rules.version}, {"hash", rules.hash}}, std::uint64_t{1});
  One(text, "rate_limiter_rules_active", kGauge, "How many rules are active.", rules.active);
  One(text, "rate_limiter_rules_loaded_timestamp_seconds", kGauge,
      "When the active rules were loaded.",
      static_cast<std::int64_t>(rules.loaded_at.time_since_epoch().count()));
  One(text, "rate_limiter_rules_without_series_total", kCounter,
      "Times that a rule was loaded for which there was no series of its own left.",
      rules.overflowed);
  text.Family("rate_limiter_reloads_total", kCounter, "Attempts to load rules again.");
  text.Sample({{"result", "success"}}, rules.reloads_succeeded);
  text.Sample({{"result", "failure"}}, rules.reloads_failed);
}

void WriteServer(PrometheusText& text, const MetricsSnapshot& snapshot) {
  By<Enforcement, std::uint64_t> enforcement;
  enforcement[snapshot.enforcement] = 1;
  text.Family("rate_limiter_enforcement", kGauge, "1 for the mode that is switched on.");
  EachOf(text, "mode", enforcement);
  One(text, "rate_limiter_ready", kGauge, "1 while /readyz says so.",
      std::uint64_t{snapshot.ready ? 1U : 0U});
  One(text, "rate_limiter_threads", kGauge, "Event loops.", snapshot.threads);
  text.Family("rate_limiter_log_lines_total", kCounter, "Log lines written.");
  EachOf(text, "level", snapshot.log.lines);
  One(text, "rate_limiter_log_lines_dropped_total", kCounter,
      "Log lines dropped because nobody took them.", snapshot.log.dropped);
  text.Family("rate_limiter_build_info", kInfo, "What this server was built from.");
  text.Sample({{"version", snapshot.build.version},
               {"revision", snapshot.build.revision},
               {"compiler", snapshot.build.compiler}},
              std::uint64_t{1});
}

void WriteProcess(PrometheusText& text, const ProcessSnapshot& process) {
  One(text, "process_cpu_seconds_total", kCounter, "User and system time.", process.cpu);
  One(text, "process_resident_memory_bytes", kGauge, "Resident memory.", process.resident_bytes);
  One(text, "process_virtual_memory_bytes", kGauge, "Address space, reserved or used.",
      process.virtual_bytes);
  One(text, "process_open_fds", kGauge, "Open file descriptors.", process.open_fds);
  One(text, "process_max_fds", kGauge, "How many may be open.", process.max_fds);
  One(text, "process_start_time_seconds", kGauge, "When the process started.",
      process.start_time_seconds);
}

}  // namespace

void AppendMetricsPage(const MetricsSnapshot& snapshot, MetricsFormat format,
                       const ConstantLabels& constant, std::string& out) {
  PrometheusText text(out, format, constant);
  WriteCalls(text, snapshot.loops);
  WriteRequests(text, snapshot.requests);
  WriteTimes(text, snapshot.loops);
  if (snapshot.keys) WriteKeys(text, *snapshot.keys);
  if (snapshot.redis) WriteRedis(text, *snapshot.redis);
  if (!snapshot.leases.empty()) WriteLeases(text, snapshot.leases);
  WriteConnections(text, snapshot.loops);
  if (!snapshot.tls.empty()) WriteTls(text, snapshot.tls);
  WriteRules(text, snapshot.rules);
  WriteServer(text, snapshot);
  if (snapshot.process) WriteProcess(text, *snapshot.process);
  text.End();
}

}  // namespace sluice::telemetry
