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
  /// The current time on the clock of deadlines. Not the turn's: that may last
  /// longer than a lease's slack, and a grant's schedule begins when the answer is there.
  std::function<SteadyTime()> now;
  /// Called with keys that other nodes should give back tokens of; may be empty. Their
  /// LeaseTable::Recall is to be called.
  std::function<void(const Key&)> recall{};
  /// The table may hold something now: it is to be swept. May be empty.
  std::function<void()> on_held{};
  /// From then on LeasedStore::GiveUp is to be called, instead of when it was said before. Empty:
  /// calls wait as long as the store does.
  std::function<void(SteadyTime)> wake{};
};

/// Answers a check of one limit from what the table holds, if that suffices. From any thread.
/// `wants_more`: LeasedStore::FetchAhead is due.
bool AnswerFrom(LeaseTable& table, store::StoreCall& call, SteadyTime now, bool& wants_more);

/// A store in front of one that lends, which answers from the same memory of denials as `table`
/// does (denial_store.h): enforced checks that may lease are answered from `table`, at
/// once whenever it can decide; all other calls are submitted to the
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

  store::Completion Submit(store::StoreCall& call) override;
  void SubmitBatch(std::span<store::StoreCall* const> calls) override;

  /// Gives back what is idle. To be called every few milliseconds, by one thread of those that
  /// share the table.
  void Sweep();
  /// Gives back tokens that are not needed here, because another node asks for them.
  void GiveBack(const Key& key);
  /// Calls that have waited as long as they could are denied if that is remembered, else answered
  /// that there is no answer. The requests that they waited for go on, for others.
  void GiveUp();
  /// Asks for the calls to come, unless that is under way.
  void FetchAhead(const store::KeyUse& use);

 private:
  struct LeaseRequest;
  struct Waiting {
    store::StoreCall* call;
    SteadyTime until;
  };
  enum class Attempt : std::uint8_t { kAnswered, kWaits, kNeedsStore };

  Attempt TryOne(store::StoreCall& call);
  Attempt TryAll(store::StoreCall& call);
  bool FillOthers(store::StoreCall& call, std::size_t denied, SteadyTime now);
  Attempt Wait(store::StoreCall& call, SteadyTime now);
  SteadyTime Until(const store::StoreCall& call, SteadyTime now);

  LeaseRequest& TakeRequest();
  LeaseRequest& NewRequest(const store::KeyUse& use, const KeyHash& hash);
  /// A fetch for this key that is on its way, if there is one.
  LeaseRequest* Fetching(const KeyHash& hash);
  /// Asks for the calls that wait, if any, else for those to come.
  store::Completion Fetch(LeaseRequest& request, SteadyTime now);
  void Return(const Key& key, const Limit& limit, const algo::lease::Request& request);
  store::Completion Submit(LeaseRequest& request);
  store::Completion Send(LeaseRequest& request, store::Operation operation);

  /// Passes the answer to the table and to the calls that wait.
  void Conclude(LeaseRequest& request);
  void ConcludeFetch(LeaseRequest& request);
  /// False: the call was not answered, but asks again.
  bool Serve(LeaseRequest& request, store::StoreCall& call, SpendAttempt attempt, SteadyTime now);
  void Fail(store::StoreCall& call, ErrorCode error, SteadyTime now);
  void Finish(const LeaseRequest& request, store::StoreCall& call);
  void Recycle(LeaseRequest& request);

  static constexpr std::size_t kPlaces = 256;
  std::vector<LeaseRequest*>& PlaceOf(const KeyHash& hash) { return fetching_[hash.low % kPlaces]; }

  store::Store& store_;
  LeaseTable& table_;
  const LeasedStoreOptions options_;
  const KeyHasher hasher_;
  std::vector<std::unique_ptr<LeaseRequest>> requests_;
  std::vector<LeaseRequest*> idle_;
  std::array<std::vector<LeaseRequest*>, kPlaces> fetching_;  ///< By their keys' hashes.
  SteadyTime next_give_up_ = SteadyTime::max();
};

}  // namespace sluice::lease
