#pragma once

#include "lease/lease_table.h"
#include "lease/leased_store.h"
#include "net/loop.h"
#include "net/timer.h"
#include "store/store.h"

namespace sluice::lease {

/// One event loop's part in a process's leases: a store that answers from the table what it can,
/// and sweeps it while something is held, if no other loop does. An idle process is not woken.
///
/// Lives on its loop's thread; `table` is shared by all loops of the process. `store` must be
/// destroyed first, which answers all calls.
class LoopLeases {
 public:
  LoopLeases(net::Loop& loop, store::Store& store, LeaseTable& table);
  ~LoopLeases();
  LoopLeases(const LoopLeases&) = delete;
  LoopLeases& operator=(const LoopLeases&) = delete;

  [[nodiscard]] store::Store& store() { return leased_; }

 private:
  void BeginSweeping();
  void Sweep();

  net::Loop& loop_;
  LeaseTable& table_;
  LeasedStore leased_;
  net::Timer next_sweep_;
  bool sweeps_ = false;
};

}  // namespace sluice::lease
