#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "denial/denial_table.h"
#include "store/store.h"

namespace sluice::denial {

struct StoreOptions {
  /// Returns the current time.
  std::function<SteadyTime()> now;
  /// Returns the time at which a call is sent; may be slightly early, and so cheaper. Empty: `now`.
  std::function<SteadyTime()> sent{};
  /// The store's timeout. Checks with a shorter timeout are completed here at their own deadline;
  /// the store's late result is still remembered. 0: the store enforces all deadlines.
  Micros deadline{0};
  /// Called with keys whose remembered denials are stale, to be dropped in other processes
  /// (DenialTable::Drop); may be empty.
  std::function<void(const Key&)> changed{};
  /// Called when a denial was remembered; may be empty.
  std::function<void()> on_remembered{};
  /// Schedules DenialStore::ExpireCalls for this time, replacing the previous one. Required if
  /// there is a `deadline`.
  std::function<void(SteadyTime)> wake{};
};

/// Denies a check if `table` remembers its denial and no real check is due. Returns false if the
/// store must decide. May be called from any thread.
bool AnswerFrom(DenialTable& table, store::StoreCall& call, const DenialTable::TimeSource& now);

/// A store in front of another one, usually remote: checks that the other one denied recently are
/// denied from `table`, also while it does not answer. docs/redis.md has the guarantees.
///
/// Denials are remembered for enforced limits of any algorithm but concurrency; not for limits that
/// count denied calls, shadow limits and quotas. A call with several limits is denied if the denial
/// of one of them is remembered; the others are reported as full. Resets, grants and adjustments
/// drop remembered denials: when they are sent, for the calls behind them, and when they are done.
///
/// One per thread, like the store; the table is shared. Destroy the store first: all calls must be
/// done before the destructor runs.
class DenialStore final : public store::Store {
 public:
  DenialStore(store::Store& store, DenialTable& table, StoreOptions options);
  ~DenialStore() override;

  store::Completion Submit(store::StoreCall& call) override;
  void SubmitBatch(std::span<store::StoreCall* const> calls) override;

  /// Completes the calls whose deadline has passed. The store continues to run them.
  void ExpireCalls();

 private:
  struct Request;
  struct Deadline {
    SteadyTime when;
    Request* request;
    std::uint64_t number;  ///< Identifies one use of the request, which is recycled.
    bool operator<(const Deadline& other) const { return when > other.when; }  // Earliest on top.
  };

  store::Completion CheckSeveral(store::StoreCall& call);
  bool TakeProbes(std::span<const store::KeyUse> uses);
  store::Completion Check(store::StoreCall& call, bool is_probe);
  store::Completion Change(store::StoreCall& call);
  store::Completion Send(Request& request);
  void Conclude(Request& request);
  void Finish(store::StoreCall& call, bool on_callers_stack);
  void Learn(const Request& request);
  void Drop(const store::StoreCall& call);
  void Announce(const store::StoreCall& call);
  void SetDeadline(Request& request);
  Request& TakeRequest(store::StoreCall& call);

  store::Store& store_;
  DenialTable& table_;
  const StoreOptions options_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<Request*> idle_;
  std::vector<Deadline> deadlines_;  ///< A heap; includes deadlines of calls that are done.
  std::uint64_t numbers_ = 0;
  SteadyTime next_wake_ = SteadyTime::max();
};

}  // namespace sluice::denial
