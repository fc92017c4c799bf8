#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "net/loop.h"
#include "redis/service.h"
#include "store/redis/redis_store.h"
#include "store/testing/driver.h"

namespace sluice::store::testing {

/// A store on a Redis of its own, which judges by the time of the calls. `Servers`: a RedisServer,
/// a SentinelSet or a RedisCluster.
template <typename Servers>
class RedisDriver final : public Driver {
 public:
  template <typename... Arguments>
  explicit RedisDriver(Arguments&&... arguments)
      : servers_(std::forward<Arguments>(arguments)...),
        service_(redis::MakeService(loop_, servers_.ClientOptions())),
        store_(loop_, *service_,
               {.deadline = std::chrono::seconds(10), .use_time_of_calls = true}) {}

  RedisStore& store() override { return store_; }

  void Pump() override {
    bool turned = false;  // Asked before each turn: one is enough.
    loop_.RunUntil([&] { return std::exchange(turned, true); },
                   SteadyClock::Now() + std::chrono::seconds(1));
  }

  void RunBatch(std::span<StoreCall* const> calls) override {
    store_.SubmitBatch(calls);
    while (std::any_of(calls.begin(), calls.end(),
                       [](const StoreCall* call) { return call->pending; })) {
      Pump();
    }
  }

 private:
  Servers servers_;
  net::Loop loop_;
  std::unique_ptr<redis::Service> service_;
  RedisStore store_;
};

}  // namespace sluice::store::testing
