#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "identity/identifier.h"
#include "lease/redis/node_leases.h"
#include "limiter/limiter.h"
#include "redis/options.h"
#include "rules/live_rules.h"
#include "server/config.h"
#include "store/memory/memory_store.h"
#include "telemetry/constant_labels.h"
#include "telemetry/log.h"
#include "telemetry/rule_counters.h"

namespace sluice::server {

/// What all loops of a server have in common. Each part says for itself how threads may share it;
/// those that are plain values don't change once the loops run.
struct Shared {
  Shared(Config its_config, const telemetry::LogOptions& log_options);

  const Config config;
  std::string admin_token;  ///< Empty: none is needed, of local clients.
  std::string receipt_secret;
  telemetry::ConstantLabels labels;
  /// Replaced by the main thread only, which hands it to the workers.
  std::shared_ptr<const identity::Identifier> identifier;
  std::optional<redis::Options> redis;  ///< Not set: limits live in memory.

  telemetry::Log log;
  telemetry::RuleIds rule_ids;
  rules::LiveRules rules;
  limiter::Settings settings;
  /// Holds all limits; or, with Redis, those of rules that go on alone while Redis does not answer.
  std::unique_ptr<store::MemoryStore> memory;
  std::unique_ptr<lease::NodeLeases> leases;  ///< With Redis.
  std::atomic<bool> draining{false};
};

}  // namespace sluice::server
