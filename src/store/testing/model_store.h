#pragma once

#include <memory>
#include <span>

#include "store/store.h"

namespace sluice::store::testing {

/// The judge of the stores: decisions over several limits as their definition reads, on the models
/// of the algorithms. Every operation works on copies of its keys and keeps them, or does not.
///
/// It forgets nothing by itself, chooses slots by counting, and is not thread-safe. A key that is
/// as if never used, and has no grant, is treated as one that was never seen: any store may have
/// dropped it.
class ModelStore final : public Store {
 public:
  ModelStore();
  ~ModelStore() override;

  Completion Submit(StoreCall& call) override;
  void SubmitBatch(std::span<StoreCall* const> calls) override;

  /// Whether the key was as if never used at the latest time that the store has seen, but is not so
  /// at `now`, to which the clock was set back: a store may or may not have forgotten it.
  [[nodiscard]] bool MayBeForgotten(const Key& key, WallTime now) const;

 private:
  class Ledger;

  /// Apart, since the numbers that it counts with take a compiler long to read.
  std::unique_ptr<Ledger> ledger_;
};

}  // namespace sluice::store::testing
