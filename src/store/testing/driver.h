#pragma once

#include <span>

#include "store/store.h"

namespace sluice::store::testing {

/// A store under test, and what it takes to get an answer out of it.
class Driver {
 public:
  virtual ~Driver() = default;

  virtual Store& store() = 0;
  /// For stores with a clock of their own: calls are answered as of `now` from here on.
  virtual void SetNow(WallTime /*now*/) {}
  /// Lets a store that answered "later" go on.
  virtual void Pump() {}

  /// Submits the call and waits for its answer.
  void Run(StoreCall& call);
  /// The same for many calls at once, all of them of one moment. Overridden where the store
  /// answers later.
  virtual void RunBatch(std::span<StoreCall* const> calls);
};

}  // namespace sluice::store::testing
