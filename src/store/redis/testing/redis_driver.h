#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "net/loop.h"
#include "redis/client.h"
#include "redis/testing/redis_server.h"
#include "store/redis/redis_store.h"
#include "store/testing/driver.h"

namespace sluice::store::testing {

/// A store on a Redis of its own, which judges by the time of the calls.
class RedisDriver final : public Driver {
 public:
  RedisDriver()
      : client_(loop_, server_.ClientOptions()),
        store_(loop_, client_, {.deadline = std::chrono::seconds(10), .use_time_of_calls = true}) {}

  RedisStore& store() override { return store_; }
  redis::testing::RedisServer& server() { return server_; }

  void Pump() override {
    bool turned = false;  // Asked before each turn: one is enough.
    loop_.RunUntil([&] { return std::exchange(turned, true); },
                   SteadyClock::Now() + std::chrono::seconds(1));
  }

  void RunBatch(std::span<Call* const> calls) override {
    store_.SubmitBatch(calls);
    while (
        std::any_of(calls.begin(), calls.end(), [](const Call* call) { return call->pending; })) {
      Pump();
    }
  }

 private:
  redis::testing::RedisServer server_;
  net::Loop loop_;
  redis::Client client_;
  RedisStore store_;
};

}  // namespace sluice::store::testing
