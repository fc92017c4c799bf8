#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/loop.h"
#include "redis/service.h"
#include "redis/testing/redis_server.h"
#include "store/redis/message.h"
#include "store/redis/redis_store.h"

namespace sluice::store::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A call with all that it points to, and how often it was answered.
struct Asked {
  std::vector<std::string> names;  ///< The keys' tags.
  std::vector<KeyUse> uses;
  StoreCall call;
  int times = 0;
  std::size_t* answered = nullptr;  ///< Counts answers to all calls.

  [[nodiscard]] bool allowed() const { return call.ok && call.allowed; }
};

inline constexpr std::string_view kScope = "rule:limit";

/// The key that a call about this tag reads and writes.
inline std::string RedisKeyOf(std::string_view tag) {
  std::string key;
  AppendRedisKey({.scope = kScope, .tag = tag, .rest = {}}, key);
  return key;
}

/// Lets a store answer calls on a loop that runs in this thread.
class Asker {
 public:
  /// Redis as `options` say; its own clock decides.
  Asker(net::Loop& loop, const redis::Options& options, Micros deadline = seconds(10))
      : Asker(loop, options, RedisStoreOptions{.deadline = deadline}) {}
  Asker(net::Loop& loop, const redis::Options& redis, const RedisStoreOptions& options)
      : loop_(loop),
        client_(redis::MakeService(loop, redis)),
        store_(std::in_place, loop, *client_, options) {}

  /// A call that is about `limit` for each of the names, to be filled in further and submitted.
  Asked& Prepare(Operation operation, const Limit& limit, std::vector<std::string> names,
                 std::int64_t cost) {
    Asked& asked = asked_.emplace_back();
    asked.names = std::move(names);
    for (const std::string& name : asked.names) {
      KeyUse& use = asked.uses.emplace_back();
      use.key = {.scope = kScope, .tag = name, .rest = {}};
      use.limit = &limit;
      use.cost = cost;
    }
    asked.call.operation = operation;
    asked.call.uses = asked.uses;
    asked.answered = &answered_;
    asked.call.context = &asked;
    asked.call.on_done = [](StoreCall& /*call*/, void* context) {
      auto& answered = *static_cast<Asked*>(context);
      ++answered.times;
      ++*answered.answered;
    };
    return asked;
  }

  /// Submits a call that is about `limit` for each of the names. It is answered later.
  Asked& Submit(Operation operation, const Limit& limit, std::vector<std::string> names,
                std::int64_t cost = 1) {
    Asked& asked = Prepare(operation, limit, std::move(names), cost);
    store_->Submit(asked.call);
    return asked;
  }

  /// Submits a call of one use, whose key is that of `name`.
  Asked& Submit(Operation operation, const KeyUse& use, std::string_view name, WallTime now = {}) {
    Asked& asked = Prepare(operation, *use.limit, {std::string(name)}, use.cost);
    const Key key = asked.uses[0].key;
    asked.uses[0] = use;
    asked.uses[0].key = key;
    asked.call.now = now;
    store_->Submit(asked.call);
    return asked;
  }

  Asked& Check(const Limit& limit, std::string_view name, std::int64_t cost = 1) {
    return Submit(Operation::kCheck, limit, {std::string(name)}, cost);
  }

  /// The same, and waits for the answer.
  Asked& Run(Operation operation, const Limit& limit, std::vector<std::string> names,
             std::int64_t cost = 1) {
    Asked& asked = Submit(operation, limit, std::move(names), cost);
    EXPECT_TRUE(RunUntil([&] { return asked.times > 0; }));
    return asked;
  }

  Asked& RunCheck(const Limit& limit, std::string_view name, std::int64_t cost = 1) {
    return Run(Operation::kCheck, limit, {std::string(name)}, cost);
  }

  /// How much of the key's limit is used, as Redis has it.
  std::int64_t Used(const Limit& limit, std::string_view name) {
    Inspection inspection;
    Asked& asked = Prepare(Operation::kInspect, limit, {std::string(name)}, 0);
    asked.uses[0].inspection = &inspection;
    store_->Submit(asked.call);
    EXPECT_TRUE(RunUntil([&] { return asked.times > 0; }));
    EXPECT_TRUE(asked.call.ok) << ErrorName(asked.call.error);
    asked.uses[0].inspection = nullptr;
    return limit.cap() - inspection.level;
  }

  /// Whether every call so far was answered, in time.
  [[nodiscard]] bool WaitForAll() {
    return RunUntil([this] { return answered_ >= asked_.size(); });
  }

  bool RunUntil(const std::function<bool()>& done, Micros timeout = seconds(30)) {
    return loop_.RunUntil(done, SteadyClock::Now() + timeout);
  }

  /// Forgets calls that were answered.
  void Clear() {
    asked_.clear();
    answered_ = 0;
  }

  [[nodiscard]] const std::deque<Asked>& asked() const { return asked_; }
  [[nodiscard]] redis::Service& client() { return *client_; }
  [[nodiscard]] RedisStore& store() { return *store_; }
  /// The client lives on.
  void DestroyStore() { store_.reset(); }

 private:
  net::Loop& loop_;
  std::unique_ptr<redis::Service> client_;
  std::deque<Asked> asked_;
  std::size_t answered_ = 0;
  std::optional<RedisStore> store_;  ///< Goes first: it answers what is pending.
};

/// A bucket of which nothing comes back while a test runs.
inline Limit SlowBucket(std::int64_t capacity) {
  return *Limit::TokenBucket({.capacity = capacity, .refill = Rate::PerDay(1)});
}

/// A real Redis of the test's own.
class RealRedisTest : public ::testing::Test {
 protected:
  redis::testing::RedisServer server_;
  net::Loop loop_;

  std::string Do(const std::string& command) { return Describe(server_.Do(command).value()); }
};

}  // namespace sluice::store::testing
