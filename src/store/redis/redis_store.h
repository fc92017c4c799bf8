#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/counter.h"
#include "base/metrics.h"
#include "net/loop.h"
#include "net/timer.h"
#include "redis/service.h"
#include "store/redis/scattered_call.h"
#include "store/store.h"
#include "store/store_queue.h"

namespace sluice::store {

struct RedisStoreOptions {
  /// Timeout of a call, from Submit on, unless the call has a shorter one.
  Micros deadline = std::chrono::milliseconds(50);
  /// For tests: use each call's `now` instead of Redis' clock; keys don't expire.
  bool use_time_of_calls = false;
};

/// Written on the store's thread, readable from any.
struct RedisStoreStats {
  Counter calls{};         ///< Submitted.
  Counter script_calls{};  ///< Including retries.
  Counter reloads{};       ///< Times that Redis had lost the script.
  Counter timeouts{};      ///< Calls that may have run.
  Counter failures{};      ///< Calls that failed with another error.
  Counter scattered{};     ///< Calls with keys in several slots of a cluster.
  /// Uses that were consumed and given back because another slot denied the call. Meanwhile each
  /// may have caused the denial of another call.
  Counter given_back{};

  void operator+=(const RedisStoreStats& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = RedisStoreStats;
    return std::tuple{
        Unlisted{&S::calls},
        Unlisted{&S::script_calls},
        Metric{kCounter, "rate_limiter_redis_script_reloads_total",
               "Times that Redis had lost the script.", &S::reloads},
        Unlisted{&S::timeouts},
        Unlisted{&S::failures},
        Unlisted{&S::scattered},
        Metric{kCounter, "rate_limiter_redis_given_back_total",
               "Parts of calls that were taken and given back because a limit in another slot of a "
               "cluster denied the call.",
               &S::given_back}};
  }
};
static_assert(HasAllMetrics<RedisStoreStats>);

/// Keeps the state of keys in Redis (one server or a cluster): all programs that use it enforce a
/// limit together. Time is Redis' clock.
///
/// All calls submitted in one turn of the loop are sent together in few script calls: one for up to
/// 128 keys, and one per slot in a cluster. A script call blocks Redis, so its work is limited to
/// well under a millisecond: fewer keys if they are logs, slots, or otherwise not plain. Only a few
/// such script calls are in flight at a time, so that other clients' commands run in between. A
/// decision that would take longer is made in several steps (scattered_call.h), like one over
/// several slots. A call that may have run is never sent again: it fails with kStoreTimeout, and
/// costs at most what it requested. A call that provably did not run (unknown script, Redis loading
/// or read-only, slot moved) is retried within the deadline.
///
/// Calls with keys in several slots of a cluster take several steps (scattered_call.h); other calls
/// may run in between, even those submitted with them.
///
/// Every call is completed once, also when the service is closed: immediately if it waits for a
/// reply or there is no connection, else within a few milliseconds.
///
/// Lives on its loop's thread; `service` must outlive it.
class RedisStore final : public Store, private PartRunner {
 public:
  RedisStore(net::Loop& loop, redis::Service& service, const RedisStoreOptions& options);
  /// Completes all pending calls: kStoreTimeout if they may have been sent, else kStoreUnavailable.
  /// Later replies are dropped.
  ~RedisStore() override;

  Completion Submit(StoreCall& call) override;
  void SubmitBatch(std::span<StoreCall* const> calls) override;

  [[nodiscard]] Micros deadline() const { return options_.deadline; }
  /// Sets the observer of keys whose cost was given back because another slot denied the call. Must
  /// outlive the store.
  void OnGivenBack(std::function<void(const Key&)> listener) {
    on_given_back_ = std::move(listener);
  }
  /// Returns the queue of pending calls. Its longest wait is half the deadline.
  [[nodiscard]] StoreQueue& queue() { return queue_; }

  /// May be called from any thread; the counters are not one consistent snapshot.
  [[nodiscard]] RedisStoreStats StatsApprox() const { return counters_; }

 private:
  struct Batch;
  /// A call with keys of one slot.
  struct Waiting {
    StoreCall* call;
    SteadyTime deadline;
    std::uint32_t order = 0;  ///< Order of submission in the turn.
    std::uint16_t slot;
    bool callers_deadline;  ///< The deadline is the call's own, before the store's.
  };
  /// A batch in one of its uses (batches are recycled).
  struct Predecessor {
    const Batch* batch;
    std::uint64_t number;

    [[nodiscard]] bool over() const;
  };

  void RunPart(StoreCall& part, std::uint16_t slot, SteadyTime deadline) override;
  void GiveBack(const KeyUse& taken, std::uint16_t slot, WallTime now) override;

  void SubmitBySlot(StoreCall& call, SteadyTime deadline);
  Batch& TakeBatch(const Waiting& first);
  void Recycle(Batch& batch);
  void Flush();
  void KeepOrder();
  [[nodiscard]] bool MustWait(const Batch& batch) const;
  [[nodiscard]] bool MaySend(const Batch& batch) const;
  void Hold(Batch& batch, bool first = false);
  void HoldRest(Batch& batch, std::size_t answered);
  void SendHeld();
  void DropLate();
  void Retry();
  void Send(Batch& batch);
  void Receive(Batch& batch, const redis::Answer& answer);
  void Digest(Batch& batch, const redis::Answer& answer);
  void SendScript(Batch& batch);
  void SendLater(Batch& batch);
  void SendApart(Batch& batch);
  void Fail(Batch& batch, ErrorCode error);
  void Fail(std::span<StoreCall* const> calls, ErrorCode error);
  void Finish(StoreCall& call);

  net::Loop& loop_;
  redis::Service& service_;
  const RedisStoreOptions options_;
  const bool has_slots_;
  StoreQueue queue_;
  net::TurnEnd flush_;
  net::Timer retry_;
  net::Timer held_timer_;
  std::vector<std::unique_ptr<Batch>>
      batches_;  ///< Owns all batches; the lists below point to them.
  std::vector<Batch*> idle_;
  std::uint64_t numbers_ = 0;
  std::vector<Waiting> waiting_;   ///< Sent at the end of the turn.
  std::vector<Batch*> in_flight_;  ///< Passed to the service.
  std::vector<Batch*> to_retry_;
  std::pmr::unsynchronized_pool_resource pool_;  ///< Memory of the next two.
  std::pmr::deque<Batch*> held_{&pool_};         ///< Waiting for earlier batches.
  /// Hashes of the keys in held_; later calls with these keys are held, too.
  std::pmr::unordered_set<std::size_t> held_keys_{&pool_};
  SteadyTime held_until_{};          ///< The earliest deadline in held_.
  std::size_t heavy_in_flight_ = 0;  ///< Script calls with more than plain checks.
  std::vector<std::uint16_t>
      script_sent_to_;  ///< Nodes that got the script in the turn at script_sent_at_.
  SteadyTime script_sent_at_{};
  bool ending_ = false;
  std::function<void(const Key&)> on_given_back_;

  // Buffers, reused to avoid allocations.
  std::string buffer_;
  std::vector<KeyLocation> locations_;
  std::vector<Batch*> flushed_;                            ///< The batches of a turn.
  std::vector<StoreCall*> done_;                           ///< The calls that a reply answers.
  std::vector<std::pair<std::size_t, std::size_t>> keys_;  ///< Hash of a key, index in flushed_.
  RedisStoreStats counters_;
};

}  // namespace sluice::store
