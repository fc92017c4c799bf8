#pragma once

#include <memory>
#include <span>

#include <sluice/limiter.h>

#include "lease/redis/node_leases.h"
#include "lease/redis/redis_path.h"
#include "net/loop.h"
#include "redis/options.h"
#include "store/store.h"

namespace sluice {

/// A blocking store on Redis, with an event loop on its own thread. Concurrent calls are sent
/// together. Thread-safe.
class RedisThread final : public store::Store {
 public:
  static Result<std::unique_ptr<RedisThread>> Make(const RedisLimiterOptions& options);

  RedisThread(const redis::Options& redis, Micros deadline);
  ~RedisThread() override;
  RedisThread(const RedisThread&) = delete;
  RedisThread& operator=(const RedisThread&) = delete;

  /// Both overwrite the calls' `on_done` and `context`.
  store::Completion Submit(store::StoreCall& call) override;
  void SubmitBatch(std::span<store::StoreCall* const> calls) override;

  [[nodiscard]] lease::LeaseTable& leases() { return node_.table; }

 private:
  bool AnswerHere(store::StoreCall& call);
  void FetchAhead(const store::KeyUse& use);

  const redis::Options options_;
  lease::NodeLeases node_;
  net::LoopThread thread_;
  std::unique_ptr<lease::RedisPath> path_;  ///< Lives on the loop's thread.
};

}  // namespace sluice
