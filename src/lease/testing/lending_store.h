#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>

#include "algo/lease.h"
#include "store/store.h"

namespace sluice::lease::testing {

/// A store that lends, in memory: checks, fetches, returns and resets of keys, by the arithmetic
/// that all stores share. It answers on request, in any number of turns.
class LendingStore final : public store::Store {
 public:
  store::Completion Submit(store::StoreCall& call) override;
  void SubmitBatch(std::span<store::StoreCall* const> calls) override;

  /// Answers everything that waits, and what comes up meanwhile.
  void Pump();
  /// Answers one of the calls that wait, whichever; false if there is none.
  bool PumpOne(std::size_t which);

  WallTime now{std::chrono::hours(500'000)};
  bool answers_at_once = false;
  bool fails = false;
  int calls = 0;

  /// What the store has left of the key with this tag.
  [[nodiscard]] std::int64_t Left(const std::string& tag, const Limit& limit);
  [[nodiscard]] std::int64_t Outstanding(const std::string& tag) {
    return algo::lease::Outstanding(keys_[tag].ledger);
  }

 private:
  struct Stored {
    bool known = false;
    algo::State state;
    algo::lease::Ledger ledger;
  };

  Stored& Find(const store::KeyUse& use);
  void Run(store::StoreCall& call);
  void Check(store::StoreCall& call);

  std::map<std::string, Stored> keys_;
  std::deque<store::StoreCall*> waiting_;
};

}  // namespace sluice::lease::testing
