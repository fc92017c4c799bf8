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
  /// How long a call may take.
  Micros deadline = std::chrono::milliseconds(50);
  /// Observes circuit breakers; may be empty.
  redis::BreakerListener on_breaker_change{};
  /// Observes the number of processes at this Redis, this one included, and Redis' clock. Empty:
  /// there is no heartbeat, and this process is not counted.
  HeartbeatListener on_heartbeat{};
};

/// One event loop's path to Redis, for servers and for the library: the client with its circuit
/// breakers, the store with its queue, and in front of it the process's denials and leases.
///
/// One loop at a time sweeps the leases, while tokens are held, and one listens to the other nodes,
/// from the first lease or denial on: a process that has neither is not woken, and has no further
/// connection. One sends the heartbeat.
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
  /// The calls that Redis has not answered; null once closed.
  [[nodiscard]] store::StoreQueue* queue() {
    return redis_store_ ? &redis_store_->queue() : nullptr;
  }

  /// Answers all pending calls and closes all connections. Calls that are submitted meanwhile fail;
  /// none may be submitted afterwards.
  void Close();

  /// From any thread; numbers of one moment may be a little apart.
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
  net::Timer next_give_up_;
  net::Timer next_expiry_;
  bool sweeps_ = false;
  std::unique_ptr<redis::Subscription> listener_;
  std::optional<Heartbeat> heartbeat_;
};

}  // namespace sluice::lease
