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
  /// The clock that denials are measured by.
  std::function<SteadyTime()> now;
  /// The same, when a call is sent; may be a little early, and so cheaper. Empty: `now`.
  std::function<SteadyTime()> sent{};
  /// How long the store takes at most. Checks whose callers wait for less long are answered here at
  /// their own deadline, while the store goes on: what it says then is still learned. 0: the store
  /// keeps all deadlines.
  Micros deadline{0};
  /// Called with keys of which denied calls may pass now; may be empty. Other processes'
  /// DenialTable::Drop is to be called.
  std::function<void(const Key&)> changed{};
  /// Something was remembered; may be empty.
  std::function<void()> on_remembered{};
  /// DenialStore::ExpireCalls is to be called then, instead of when it was said before. Needed if
  /// there is a `deadline`.
  std::function<void(SteadyTime)> wake{};
};

/// Denies a check if `table` remembers that the store denied it, and no real check is due. From any
/// thread. False: the store must be asked.
bool AnswerFrom(DenialTable& table, store::StoreCall& call, const DenialTable::TimeSource& now);

/// A store in front of another one, often a remote one: checks that the other one denied lately are
/// denied from `table`, without asking it, and also while it does not answer. docs/redis.md has
/// what is promised.
///
/// Remembered are enforced limits of any algorithm but concurrency; not those that count denied
/// calls, shadow limits and quotas. A call over several limits is denied if one of them is
/// remembered; of those that are not, the answer says that they are full. Resets, grants and
/// adjustments drop what is remembered: when they are sent, for the calls behind them, and when
/// they are answered.
///
/// One for each thread, as the store is; the table is shared. All calls must be answered before it
/// goes: destroy the store first.
class DenialStore final : public store::Store {
 public:
  DenialStore(store::Store& store, DenialTable& table, StoreOptions options);
  ~DenialStore() override;

  store::Completion Submit(store::StoreCall& call) override;
  void SubmitBatch(std::span<store::StoreCall* const> calls) override;

  /// Answers the calls whose callers have waited long enough. The store goes on with them.
  void ExpireCalls();

 private:
  struct Request;
  struct Deadline {
    SteadyTime when;
    Request* request;
    std::uint64_t number;  ///< Of the request, which is used again.
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
  std::vector<Deadline> deadlines_;  ///< A heap; some are of calls that are answered.
  std::uint64_t numbers_ = 0;
  SteadyTime next_wake_ = SteadyTime::max();
};

}  // namespace sluice::denial
