#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/counter.h"
#include "net/loop.h"
#include "net/timer.h"
#include "redis/service.h"
#include "store/redis/scattered_call.h"
#include "store/store.h"

namespace sluice::store {

struct RedisStoreOptions {
  /// How long a call may take, from Submit on; less if the call says so.
  Micros deadline = std::chrono::milliseconds(50);
  /// Tests: judge by each call's `now` instead of Redis' clock, and let nothing expire.
  bool use_time_of_calls = false;
};

struct RedisStoreStats {
  std::uint64_t calls = 0;         ///< Submitted.
  std::uint64_t script_calls = 0;  ///< Sent, those that were sent again included.
  std::uint64_t reloads = 0;       ///< Times that Redis had forgotten the script.
  std::uint64_t timeouts = 0;      ///< Calls that may have happened.
  std::uint64_t failures = 0;      ///< Calls that were answered with another error.
  std::uint64_t scattered = 0;     ///< Calls about keys in several slots of a cluster.
  /// Limits whose share was taken and given back, because another slot denied the call meanwhile:
  /// each may have denied somebody else for a moment who would have been allowed.
  std::uint64_t given_back = 0;
};

/// State in Redis, be it one server or a cluster: any number of programs that use the same one
/// enforce a limit as if they were one. Redis' clock decides; nobody else's matters.
///
/// Everything that is submitted in one turn of the loop travels together, as few calls of one
/// script: one for up to 128 keys, in a cluster one for each slot. A call that may have happened is
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
  /// sent, else kStoreUnavailable. Replies to them may still come; nobody misses them.
  ~RedisStore() override;

  Answered Submit(Call& call) override;
  void SubmitBatch(std::span<Call* const> calls) override;

  /// From any thread; numbers of one moment may be a little apart.
  [[nodiscard]] RedisStoreStats StatsApprox() const;

 private:
  struct Batch;
  /// A call about keys of one slot.
  struct Waiting {
    Call* call;
    SteadyTime deadline;
    std::uint16_t slot;
  };

  void RunPart(Call& part, std::uint16_t slot, SteadyTime deadline) override;
  void GiveBack(const Use& taken, std::uint16_t slot, WallTime now) override;

  void SubmitBySlot(Call& call, SteadyTime deadline);
  void Flush();
  void Retry();
  void Send(const std::shared_ptr<Batch>& batch);
  void Forget(const Batch& batch);
  void Receive(const std::shared_ptr<Batch>& batch, const redis::Answer& answer);
  void SendScript(const std::shared_ptr<Batch>& batch);
  void SendLater(const std::shared_ptr<Batch>& batch);
  void SendApart(const std::shared_ptr<Batch>& batch);
  void Fail(const std::vector<Call*>& calls, ErrorCode error);
  static void Finish(Call& call);

  net::Loop& loop_;
  redis::Service& service_;
  const RedisStoreOptions options_;
  const bool has_slots_;
  net::TurnEnd flush_;
  net::Timer retry_;
  std::vector<Waiting> waiting_;                   ///< For the turn's end.
  std::vector<std::shared_ptr<Batch>> under_way_;  ///< The service has them.
  std::vector<std::shared_ptr<Batch>> to_retry_;
  std::vector<std::uint16_t> told_;  ///< Nodes that were sent the script's text in the turn of
  SteadyTime told_at_{};             ///< this time.
  bool ending_ = false;
  std::string buffer_;
  std::vector<Place> places_;
  struct {
    Counter calls, script_calls, reloads, timeouts, failures, scattered, given_back;
  } counters_;
};

}  // namespace sluice::store
