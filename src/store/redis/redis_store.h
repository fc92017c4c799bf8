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
  /// How long a call may take, from Submit on; less if the call says so.
  Micros deadline = std::chrono::milliseconds(50);
  /// Tests: evaluate by each call's `now` instead of Redis' clock, and let nothing expire.
  bool use_time_of_calls = false;
};

/// Written on the store's thread, read by any.
struct RedisStoreStats {
  Counter calls{};         ///< Submitted.
  Counter script_calls{};  ///< Sent, those that were sent again included.
  Counter reloads{};       ///< Times that Redis had forgotten the script.
  Counter timeouts{};      ///< Calls that may have happened.
  Counter failures{};      ///< Calls that were answered with another error.
  Counter scattered{};     ///< Calls about keys in several slots of a cluster.
  /// Limits whose share was taken and given back, because another slot denied the call meanwhile:
  /// each may have denied another call for a moment that would have been allowed.
  Counter given_back{};

  void operator+=(const RedisStoreStats& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = RedisStoreStats;
    return std::tuple{
        UnlistedMetric{&S::calls},
        UnlistedMetric{&S::script_calls},
        Metric{kCounter, "rate_limiter_redis_script_reloads_total",
               "Times that Redis had lost the script.", &S::reloads},
        UnlistedMetric{&S::timeouts},
        UnlistedMetric{&S::failures},
        UnlistedMetric{&S::scattered},
        Metric{kCounter, "rate_limiter_redis_given_back_total",
               "Parts of calls that were taken and given back because a limit in another slot of a "
               "cluster denied the call.",
               &S::given_back}};
  }
};
static_assert(HasAllMetrics<RedisStoreStats>);

/// State in Redis, be it one server or a cluster: any number of programs that use the same one
/// enforce a limit as if they were one. Redis' clock decides.
///
/// All calls submitted in one turn of the loop are sent together, as few calls of one
/// script: one for up to 128 keys, in a cluster one for each slot. A script call blocks all others,
/// so it gets as much as Redis does in well under a millisecond: fewer keys if they are
/// logs, slots, or otherwise not plain. Of such script calls only a few are under way at a time,
/// and others' come in between. A decision over so many keys that it would take longer is made in
/// several steps (scattered_call.h), as over several slots. A call that may have happened is
/// never sent again: it is answered kStoreTimeout, and costs at most what it asked for. What
/// provably did not run (the script was not known, Redis was loading or read-only, the slot had
/// moved) is sent again within the deadline.
///
/// Calls about keys in several slots of a cluster take several steps (scattered_call.h), and others
/// may come in between, also those that were submitted with them.
///
/// Every call is answered once, also when the service is closed: at once if Redis owes a reply or
/// there is no connection, else within a few milliseconds of the loop's time.
///
/// Lives on its loop's thread; `service` must outlive it.
class RedisStore final : public Store, private PartRunner {
 public:
  RedisStore(net::Loop& loop, redis::Service& service, const RedisStoreOptions& options);
  /// Calls that are pending are answered before it returns: kStoreTimeout if they may have been
  /// sent, else kStoreUnavailable. Replies to them may still come and are dropped.
  ~RedisStore() override;

  Completion Submit(StoreCall& call) override;
  void SubmitBatch(std::span<StoreCall* const> calls) override;

  [[nodiscard]] Micros deadline() const { return options_.deadline; }
  /// Sets the observer of keys whose share of a call was given back because another slot denied it:
  /// other calls may have been denied meanwhile. It must outlive the store.
  void OnGivenBack(std::function<void(const Key&)> listener) {
    on_given_back_ = std::move(listener);
  }
  /// Calls that are submitted and not completed. Their longest wait is half the deadline.
  [[nodiscard]] StoreQueue& queue() { return queue_; }

  /// From any thread; numbers of one moment may be a little apart.
  [[nodiscard]] RedisStoreStats StatsApprox() const { return counters_; }

 private:
  struct Batch;
  /// A call about keys of one slot.
  struct Waiting {
    StoreCall* call;
    SteadyTime deadline;
    std::uint32_t order = 0;  ///< Among those of the turn.
    std::uint16_t slot;
    bool callers_deadline;  ///< The call has less time than the store would take.
  };
  /// A batch as it was used then.
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
  std::vector<std::unique_ptr<Batch>> batches_;  ///< All; the lists below point to them.
  std::vector<Batch*> idle_;
  std::uint64_t numbers_ = 0;
  std::vector<Waiting> waiting_;   ///< For the turn's end.
  std::vector<Batch*> in_flight_;  ///< The service has them.
  std::vector<Batch*> to_retry_;
  std::pmr::unsynchronized_pool_resource pool_;  ///< Of the two below.
  std::pmr::deque<Batch*> held_{&pool_};         ///< Until those before them are answered.
  /// By hash; calls about them wait behind them.
  std::pmr::unordered_set<std::size_t> held_keys_{&pool_};
  SteadyTime held_until_{};                    ///< The first deadline among them.
  std::size_t heavy_in_flight_ = 0;            ///< Script calls with more than plain checks.
  std::vector<std::uint16_t> script_sent_to_;  ///< Nodes, in the turn of this time:
  SteadyTime script_sent_at_{};
  bool ending_ = false;
  std::function<void(const Key&)> on_given_back_;

  // Kept so that they are allocated once.
  std::string buffer_;
  std::vector<KeyLocation> locations_;
  std::vector<Batch*> flushed_;                            ///< The batches of a turn.
  std::vector<StoreCall*> done_;                           ///< The calls that a reply answers.
  std::vector<std::pair<std::size_t, std::size_t>> keys_;  ///< Hash of a key, index in flushed_.
  RedisStoreStats counters_;
};

}  // namespace sluice::store
