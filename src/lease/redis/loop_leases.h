#pragma once

#include <memory>
#include <string_view>

#include "lease/leased_store.h"
#include "lease/redis/announcer.h"
#include "lease/redis/listener.h"
#include "lease/redis/node_leases.h"
#include "net/loop.h"
#include "net/timer.h"
#include "redis/options.h"
#include "redis/service.h"
#include "store/store.h"

namespace sluice::lease {

/// One event loop's part in a process's leases: a store that answers what it can from what the
/// process holds.
///
/// One loop at a time also sweeps the table, while something is held, and one listens to the other
/// nodes, from the first lease on. So a process that leases nothing is not woken, and has no
/// connection more.
///
/// Lives on its loop's thread. `service` leads to the Redis that `options` name, and `store` is
/// behind it. Close the service and destroy the store first, which answers all calls; the service
/// goes last.
class LoopLeases {
 public:
  LoopLeases(net::Loop& loop, redis::Service& service, const redis::Options& options,
             store::Store& store, NodeLeases& node);
  ~LoopLeases();
  LoopLeases(const LoopLeases&) = delete;
  LoopLeases& operator=(const LoopLeases&) = delete;

  [[nodiscard]] LeasedStore& store() { return leased_; }

 private:
  void OnHeld();
  void Sweep();
  void Hear(std::string_view message);

  net::Loop& loop_;
  const redis::Options& options_;
  NodeLeases& node_;
  Announcer announcer_;
  LeasedStore leased_;
  net::Timer next_sweep_;
  net::Timer next_give_up_;
  bool sweeps_ = false;
  std::unique_ptr<Listener> listener_;
};

}  // namespace sluice::lease
