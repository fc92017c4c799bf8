#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "denial/denial_store.h"
#include "lease/leased_store.h"
#include "lease/redis/announcer.h"
#include "lease/redis/heartbeat.h"
#include "lease/redis/node_leases.h"
#include "net/loop.h"
#include "net/timer.h"
#include "redis/options.h"
#include "redis/service.h"
#include "redis/subscription.h"
#include "store/redis/redis_store.h"

namespace sluice::lease {

struct RedisPathOptions {
  /// Timeout of a call.
  Micros deadline = std::chrono::milliseconds(50);
  /// Observes circuit breakers; may be empty.
  redis::BreakerListener on_breaker_change{};
  /// Observes the peer count (this process included) and Redis' clock. Empty: no heartbeat; this
  /// process is not counted.
  HeartbeatListener on_heartbeat{};
};

/// The Redis store of one event loop, for servers and the library: the client with its circuit
/// breakers, the store with its queue, and in front of it the process's denials and leases.
///
/// One loop of the process sweeps the leases while tokens are held, one subscribes to the other
/// nodes' announcements from the first lease or denial on, and one sends the heartbeat. A process
/// without leases and denials has no subscription and is not woken.
///
/// Lives on its loop's thread. Connects at once. `options` and `node` must outlive it.
class RedisPath {
 public:
  RedisPath(net::Loop& loop, const redis::Options& options, NodeLeases& node,
            const RedisPathOptions& path_options = {});
  /// Closes.
  ~RedisPath();
  RedisPath(const RedisPath&) = delete;
  RedisPath& operator=(const RedisPath&) = delete;

  /// The store that calls are submitted to.
  [[nodiscard]] LeasedStore& store() { return leased_; }
  [[nodiscard]] const LeasedStore& store() const { return leased_; }
  /// The queue of pending calls; null once closed.
  [[nodiscard]] store::StoreQueue* queue() {
    return redis_store_ ? &redis_store_->queue() : nullptr;
  }

  /// Completes all pending calls and closes all connections. Calls submitted meanwhile fail; none
  /// may be submitted afterwards.
  void Close();

  /// May be called from any thread; the counters are not one consistent snapshot.
  [[nodiscard]] redis::Stats RedisStatsApprox() const { return service_->StatsApprox(); }
  [[nodiscard]] store::RedisStoreStats StoreStatsApprox() const {
    return redis_store_ ? redis_store_->StatsApprox() : store::RedisStoreStats{};
  }

 private:
  void OnHeld();
  void Listen();
  void Sweep();
  void OnAnnouncement(std::string_view message);

  net::Loop& loop_;
  const redis::Options& options_;
  NodeLeases& node_;
  std::unique_ptr<redis::Service> service_;
  std::optional<store::RedisStore> redis_store_;  ///< Empty once closed.
  Announcer announcer_;
  denial::DenialStore denials_;
  LeasedStore leased_;
  net::Timer next_sweep_;
  net::Timer leased_expiry_;
  net::Timer denial_expiry_;
  bool sweeps_ = false;
  std::unique_ptr<redis::Subscription> listener_;
  std::optional<Heartbeat> heartbeat_;
};

}  // namespace sluice::lease
