#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/key_hash.h"
#include "base/live.h"
#include "envoy/load_config.h"
#include "identity/authenticator.h"
#include "identity/identifier.h"
#include "lease/redis/node_leases.h"
#include "limiter/limiter.h"
#include "match/entry_set.h"
#include "match/load_rules.h"
#include "redis/options.h"
#include "settings/config.h"
#include "simulate/traffic_sampler.h"
#include "store/key_census.h"
#include "store/key_directory.h"
#include "store/memory/memory_store.h"
#include "telemetry/constant_labels.h"
#include "telemetry/log.h"
#include "telemetry/log_every.h"
#include "telemetry/series.h"
#include "telemetry/span_buffer.h"

namespace sluice::server {

/// State shared by all loops of a server. Each member documents its own synchronization;
/// those that are plain values don't change once the loops run.
struct Shared {
  static constexpr std::size_t kVersionsKept = 10;

  explicit Shared(settings::Config its_config) : config(std::move(its_config)), log(config.log) {}

  /// Gives a rule and its limits their series, so that a call finds their counters by an index.
  void NumberLimits(rules::Rule& rule);
  /// Adds the warnings about active rules that follow from the settings to a report.
  void AddRuleWarnings(LoadReport& report) const;
  /// `cohort`: "new" or "old" of a rule with a rollout, else empty.
  telemetry::Series LimitSeriesOf(std::string_view rule, std::string_view limit,
                                  Algorithm algorithm, std::string_view cohort = {});
  /// One for each algorithm, in their order.
  static std::vector<telemetry::SeriesIds::Values> SharedLimitSeries();

  const settings::Config config;
  identity::AccessSources access;  ///< The roles of clients.
  std::string receipt_secret;
  telemetry::ConstantLabels labels;
  Live<identity::Identifier> identity;
  std::optional<redis::Options> redis;  ///< Not set: limits live in memory.

  telemetry::Log log;
  telemetry::LogEvery token_failure_log{std::chrono::minutes(1)};
  telemetry::SeriesIds rule_series{{"rule"}, {{std::string(telemetry::SeriesIds::kOther)}}};
  telemetry::SeriesIds limit_series{{"rule", "limit", "algorithm", "cohort"}, SharedLimitSeries()};
  Live<match::RuleSet> rules{kVersionsKept};
  Live<match::EntrySet> entries;
  Live<envoy::Config> envoy{1};
  limiter::Settings settings;
  /// Holds all limits; or, with Redis, those of rules that go on alone while Redis does not answer.
  std::unique_ptr<store::MemoryStore> memory;
  /// With Redis, if there is a bound: the keys made there for limits that requests bring.
  std::unique_ptr<store::KeyCensus> caller_keys;
  std::unique_ptr<lease::NodeLeases> leases;  ///< With Redis.
  /// The sample of recent calls; null: switched off. Set before the loops run.
  std::unique_ptr<simulate::TrafficSampler> traffic;
  const KeyHasher consumer_hasher;  ///< Of rules and keys, where loops count consumers.
  /// Names of keys that were used lately; null: switched off. Set before the loops run.
  std::unique_ptr<store::KeyDirectories> names;
  /// Of all loops' traces; null: there are none. Set before the loops run.
  std::unique_ptr<telemetry::SpanBudget> span_budget;
  std::atomic<bool> draining{false};
  telemetry::LogEvery lost_audit_records{std::chrono::minutes(1)};
  telemetry::LogEvery lost_penalties{std::chrono::minutes(1)};
  telemetry::LogEvery displaced_penalties{std::chrono::minutes(1)};
  /// For the warning of calls that lack an attribute.
  telemetry::LogEvery missing_attributes{std::chrono::minutes(1)};
  std::atomic<bool> warned_of_peers{false};  ///< That one was counted as if it were a caller.
};

}  // namespace sluice::server
