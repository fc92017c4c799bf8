#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "telemetry/labels.h"
#include "telemetry/log_line.h"
#include "telemetry/loop_counters.h"

namespace sluice::telemetry {

/// What all loops counted for one rule's limits of one algorithm.
struct RuleTotals {
  std::string rule;
  Algorithm algorithm{};
  By<Allowed, std::uint64_t> requests{};
  std::uint64_t shadow_denials = 0;
};

/// What the table of keys in memory says of itself.
struct KeysSnapshot {
  std::uint64_t active = 0;
  std::uint64_t bytes = 0;
  std::uint64_t evicted = 0;
  std::uint64_t expired = 0;
  std::uint64_t refused = 0;
};

/// What the Redis clients of all loops say together.
struct RedisSnapshot {
  std::uint64_t connected = 0;  ///< Connections on which Redis has let us in.
  std::uint64_t connects = 0;
  std::uint64_t connect_failures = 0;
  std::uint64_t disconnects = 0;
  std::uint64_t calls = 0;
  std::uint64_t script_reloads = 0;
  std::uint64_t given_back = 0;
  std::uint64_t late_replies = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t breakers_closed = 0;  ///< One of these three for each server and event loop.
  std::uint64_t breakers_open = 0;
  std::uint64_t breakers_half_open = 0;
  std::uint64_t breaker_opened = 0;
};

/// What is leased of one rule's limits of one algorithm. Tokens, but for the first two and the
/// last.
struct LeaseTotals {
  std::string rule;
  Algorithm algorithm{};
  By<Allowed, std::uint64_t> from_memory{};  ///< Checks that were decided there.
  std::uint64_t fetches = 0;
  std::uint64_t granted = 0;
  std::uint64_t returned = 0;
  std::uint64_t recalled = 0;
  std::uint64_t expired = 0;
  std::uint64_t missed = 0;
  std::int64_t outstanding = 0;
  std::uint64_t keys = 0;
};

/// The TLS listeners of one protocol.
struct TlsSnapshot {
  Protocol protocol{};
  By<TlsHandshake, std::uint64_t> handshakes{};
  std::uint64_t broken = 0;  ///< Connections cut after their handshake.
  std::chrono::sys_seconds certificate_expires{};
  std::uint64_t reloads_succeeded = 0;
  std::uint64_t reloads_failed = 0;
};

struct RulesSnapshot {
  std::string version;
  std::string hash;
  std::uint64_t active = 0;
  std::uint64_t overflowed = 0;  ///< RuleIds::overflowed.
  std::chrono::sys_seconds loaded_at{};
  std::uint64_t reloads_succeeded = 0;
  std::uint64_t reloads_failed = 0;
};

struct BuildSnapshot {
  std::string version;
  std::string revision;
  std::string compiler;
};

/// What the system says of this process; absent where it says nothing.
struct ProcessSnapshot {
  std::chrono::nanoseconds cpu{0};
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;
  double start_time_seconds = 0;  ///< Since the epoch.
};

struct LogSnapshot {
  By<LogLevel, std::uint64_t> lines{};
  std::uint64_t dropped = 0;
};

/// All that the metrics page tells: plain values, read a moment ago.
struct MetricsSnapshot {
  LoopTotals loops;
  std::vector<RuleTotals> requests;
  std::optional<KeysSnapshot> keys;    ///< With the memory store.
  std::optional<RedisSnapshot> redis;  ///< With Redis.
  std::vector<LeaseTotals> leases;     ///< Of the rules that leased something.
  std::vector<TlsSnapshot> tls;        ///< Of the protocols that have such listeners.
  RulesSnapshot rules;
  Enforcement enforcement{};
  bool ready = false;
  std::uint64_t threads = 0;
  BuildSnapshot build;
  std::optional<ProcessSnapshot> process;
  LogSnapshot log;
};

/// Reads one loop after the other; call it from any thread.
void ReadLoops(const RuleIds& ids, std::span<const LoopCounters* const> loops,
               MetricsSnapshot& snapshot);

}  // namespace sluice::telemetry
