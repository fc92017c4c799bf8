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
#include "redis/client.h"
#include "store/store.h"

namespace sluice::store {

struct RedisStoreOptions {
  /// How long a call may take, from Submit on.
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
};

/// State in one Redis: any number of programs that use the same one enforce a limit as if they were
/// one. Redis' clock decides; nobody else's matters.
///
/// Everything that is submitted in one turn of the loop travels together, as few calls of one
/// script. A call that may have happened is never sent again: it is answered kStoreTimeout, and
/// costs at most what it asked for. What provably did not run (the script was not known, Redis was
/// loading or read-only) is sent again within the deadline.
///
/// Every call is answered once, also when the client is closed: at once if Redis owes a reply or
/// there is no connection, else within a few milliseconds of the loop's time.
///
/// Lives on its loop's thread; `client` must outlive it.
class RedisStore final : public Store {
 public:
  RedisStore(net::Loop& loop, redis::Client& client, const RedisStoreOptions& options);
  /// Calls that are pending are answered before it returns: kStoreTimeout if they may have been
  /// sent, else kStoreUnavailable. Replies to them may still come; nobody misses them.
  ~RedisStore() override;

  Answered Submit(Call& call) override;
  void SubmitBatch(std::span<Call* const> calls) override;

  /// From any thread; numbers of one moment may be a little apart.
  [[nodiscard]] RedisStoreStats StatsApprox() const;

 private:
  struct Batch;

  void Flush();
  void Retry();
  void Send(const std::shared_ptr<Batch>& batch);
  void Forget(const Batch& batch);
  void Receive(const std::shared_ptr<Batch>& batch, const redis::Answer& answer);
  bool SendAgain(const std::shared_ptr<Batch>& batch, resp::Value error);
  void Fail(const std::vector<Call*>& calls, ErrorCode error);
  static void Finish(Call& call);

  net::Loop& loop_;
  redis::Client& client_;
  const RedisStoreOptions options_;
  net::TurnEnd flush_;
  net::Timer retry_;
  std::vector<Call*> waiting_;                     ///< For the turn's end.
  std::vector<std::shared_ptr<Batch>> under_way_;  ///< The client has them.
  std::vector<std::shared_ptr<Batch>> to_retry_;
  bool ending_ = false;
  std::string buffer_;
  struct {
    Counter calls, script_calls, reloads, timeouts, failures;
  } counters_;
};

}  // namespace sluice::store
