#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/key_hash.h"
#include "lease/lease_table.h"
#include "store/store.h"

namespace sluice::lease {

struct LeasedStoreOptions {
  /// What time it is, on the clock that deadlines are measured by. Not the turn's: that may last
  /// longer than a lease's slack, and a grant's schedule begins when the answer is there.
  std::function<SteadyTime()> now;
  /// Told of keys that other nodes should give back tokens of; may be empty. Their
  /// LeaseTable::Recall is to be called.
  std::function<void(const Key&)> recall{};
  /// Told of keys of which something denied may pass now; may be empty. Other nodes'
  /// LeaseTable::Changed is to be called.
  std::function<void(const Key&)> changed{};
  /// The table may hold something now: it is to be swept. May be empty.
  std::function<void()> on_held{};
  /// From then on LeasedStore::GiveUp is to be called, instead of when it was said before. Empty:
  /// calls wait as long as the store does.
  std::function<void(SteadyTime)> wake{};
};

/// Answers a check of one limit from what the table holds, if that can tell. From any thread.
/// `wants_more`: LeasedStore::FetchAhead is due.
bool AnswerFrom(LeaseTable& table, store::Call& call, SteadyTime now, bool& wants_more);

/// A store in front of one that lends: enforced checks that may lease are answered from `table`, at
/// once whenever it can tell; everything else, and what the table can't tell, is asked of the
/// store. Checks of one key that wait share one request.
///
/// A call over several limits is answered here if the table allows all of them, or denies one; else
/// the store decides it as a whole.
///
/// One for each thread, as the store is; the table is shared. All calls must be answered before it
/// goes: destroy the store first.
class LeasedStore final : public store::Store {
 public:
  LeasedStore(store::Store& store, LeaseTable& table, LeasedStoreOptions options);
  ~LeasedStore() override;

  store::Answered Submit(store::Call& call) override;
  void SubmitBatch(std::span<store::Call* const> calls) override;

  /// Gives back what is idle. To be called every few milliseconds, by one thread of those that
  /// share the table.
  void Sweep();
  /// Another node asks for what is not needed here.
  void GiveBack(const Key& key);
  /// Calls that have waited as long as they could are answered that there is no answer. The
  /// requests that they waited for go on, for others.
  void GiveUp();
  /// Asks for the calls to come, unless that is under way.
  void FetchAhead(const store::Use& use);

 private:
  struct Errand;
  struct Waiting {
    store::Call* call;
    SteadyTime until;
  };
  enum class Told : std::uint8_t { kAnswered, kWaits, kAskStore };

  Told TryOne(store::Call& call);
  Told TryAll(store::Call& call);
  bool TellOthers(store::Call& call, std::size_t denied, SteadyTime now);
  Told Wait(store::Call& call, SteadyTime now);
  SteadyTime Until(const store::Call& call, SteadyTime now);
  store::Answered Change(store::Call& call);

  Errand& TakeErrand();
  Errand& NewErrand(const store::Use& use, const KeyHash& hash);
  /// A fetch for this key that is on its way, if there is one.
  Errand* Fetching(const KeyHash& hash);
  /// Asks for the calls that wait, if any, else for those to come.
  store::Answered Fetch(Errand& errand, SteadyTime now);
  void Return(const Key& key, const Limit& limit, const algo::lease::Request& request);
  store::Answered Submit(Errand& errand);
  store::Answered Send(Errand& errand, store::Operation operation);

  /// The answer is there: tells the table, and those who wait.
  void Conclude(Errand& errand);
  void ConcludeFetch(Errand& errand);
  void ConcludeChange(Errand& errand);
  /// False: the call was not answered, but asks again.
  bool Serve(Errand& errand, store::Call& call, Turn turn, SteadyTime now);
  void Finish(const Errand& errand, store::Call& call);
  void Recycle(Errand& errand);

  static constexpr std::size_t kPlaces = 256;
  std::vector<Errand*>& PlaceOf(const KeyHash& hash) { return fetching_[hash.low % kPlaces]; }

  store::Store& store_;
  LeaseTable& table_;
  const LeasedStoreOptions options_;
  const KeyHasher hasher_;
  std::vector<std::unique_ptr<Errand>> errands_;
  std::vector<Errand*> idle_;
  std::array<std::vector<Errand*>, kPlaces> fetching_;  ///< By their keys' hashes.
  SteadyTime next_give_up_ = SteadyTime::max();
};

}  // namespace sluice::lease
