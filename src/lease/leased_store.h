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
  /// Returns the current time, not the turn's: a turn may last longer than a lease's slack, and a
  /// grant's schedule begins when the reply is received.
  std::function<SteadyTime()> now;
  /// Called with keys whose tokens other nodes should return (LeaseTable::Recall); may be empty.
  std::function<void(const Key&)> recall{};
  /// Called when the table may hold tokens and must be swept; may be empty.
  std::function<void()> on_held{};
  /// Schedules LeasedStore::ExpireCalls for this time, replacing the previous one. Empty: calls
  /// have the store's deadline.
  std::function<void(SteadyTime)> wake{};
};

/// Answers a check of one limit from the table if possible. May be called from any thread.
/// `wants_more`: FetchAhead is due.
bool AnswerFrom(LeaseTable& table, store::StoreCall& call, SteadyTime now, bool& wants_more);

/// A store in front of one that grants leases. Enforced checks that may lease are answered from
/// `table` if it can decide; all other calls are submitted to the store, which must use the same
/// denials as `table` (denial_store.h). Waiting checks of one key share one request.
///
/// A call with several limits is answered here if the table allows all of them, or denies one;
/// otherwise the store decides the whole call.
///
/// One per thread, like the store; the table is shared. Destroy the store first: all calls must be
/// done before the destructor runs.
class LeasedStore final : public store::Store {
 public:
  LeasedStore(store::Store& store, LeaseTable& table, LeasedStoreOptions options);
  ~LeasedStore() override;

  store::Completion Submit(store::StoreCall& call) override;
  void SubmitBatch(std::span<store::StoreCall* const> calls) override;

  /// Returns idle tokens. Must be called every few milliseconds by one of the threads that share
  /// the table.
  void Sweep();
  /// Returns tokens that are not needed here, because another node requested them.
  void GiveBack(const Key& key);
  /// Returns all tokens of the table, and leases none from now on: the process shuts down. The
  /// owner closes the store once no returns are under way, which takes at most its deadline.
  void EndLeasing();
  [[nodiscard]] bool returns_under_way() const { return returns_ > 0; }
  /// Completes calls whose deadline has passed: with a remembered denial, or kStoreTimeout. Their
  /// requests stay in flight for others.
  void ExpireCalls();
  /// Requests tokens for future calls, unless a request is under way.
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
  /// Returns the fetch of this key that is in flight, or null.
  LeaseRequest* Fetching(const KeyHash& hash);
  /// Requests tokens for the waiting calls, or for future ones if there are none.
  store::Completion Fetch(LeaseRequest& request, SteadyTime now);
  void Return(const Key& key, const Limit& limit, const algo::lease::Request& request);
  store::Completion Submit(LeaseRequest& request);
  store::Completion Send(LeaseRequest& request, store::Operation operation);

  /// Passes the reply to the table and to the waiting calls.
  void Conclude(LeaseRequest& request);
  void ConcludeFetch(LeaseRequest& request);
  /// Returns false if the call was not answered and must request again.
  bool Serve(LeaseRequest& request, store::StoreCall& call, SpendAttempt attempt, SteadyTime now);
  void Fail(store::StoreCall& call, ErrorCode error, SteadyTime now);
  void Finish(const LeaseRequest& request, store::StoreCall& call);
  void Recycle(LeaseRequest& request);

  static constexpr std::size_t kFetchBuckets = 256;
  std::vector<LeaseRequest*>& BucketOf(const KeyHash& hash) {
    return fetching_[hash.low % kFetchBuckets];
  }

  store::Store& store_;
  LeaseTable& table_;
  const LeasedStoreOptions options_;
  const KeyHasher hasher_;
  std::vector<std::unique_ptr<LeaseRequest>> requests_;
  std::vector<LeaseRequest*> idle_;
  std::array<std::vector<LeaseRequest*>, kFetchBuckets> fetching_;  ///< By the hash of the key.
  SteadyTime next_wake_ = SteadyTime::max();
  std::size_t returns_ = 0;  ///< In flight.
};

}  // namespace sluice::lease
