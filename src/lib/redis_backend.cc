#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "lease/redis/loop_leases.h"
#include "lease/redis/node_leases.h"
#include "lib/backend.h"
#include "net/loop.h"
#include "redis/service.h"
#include "redis/url.h"
#include "store/redis/redis_store.h"

namespace sluice {
namespace {

// Lets a thread wait for so many events. Unlike a latch it may be destroyed as soon as Wait
// returns: Tick notifies before it lets go of the lock, and touches nothing afterwards.
class Countdown {
 public:
  explicit Countdown(std::size_t events) : left_(events) {}

  void Tick() {
    const std::lock_guard lock(mutex_);
    if (--left_ == 0) none_left_.notify_one();
  }

  void Wait() {
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::size_t left_;
};

// A loop with a thread of its own does the talking; what several threads ask meanwhile travels
// together.
class RedisBackend final : public Backend {
 public:
  RedisBackend(const redis::Options& redis, Micros deadline) : options_(redis) {
    thread_.Do([&] {
      client_ = redis::MakeService(thread_.loop(), options_);
      client_->Connect();
      store_ = std::make_unique<store::RedisStore>(thread_.loop(), *client_,
                                                   store::RedisStoreOptions{.deadline = deadline});
      leases_ =
          std::make_unique<lease::LoopLeases>(thread_.loop(), *client_, options_, *store_, node_);
    });
  }

  ~RedisBackend() override {
    thread_.Do([&] {
      client_->Close();
      store_.reset();
      leases_.reset();
      client_.reset();
    });
  }
  RedisBackend(const RedisBackend&) = delete;
  RedisBackend& operator=(const RedisBackend&) = delete;

  void Run(store::Call& call) override {
    if (AnswerHere(call)) return;
    store::Call* const one = &call;
    RunBatch({&one, 1});
  }

  void RunBatch(std::span<store::Call* const> calls) override {
    Countdown answered(calls.size());
    thread_.loop().Post([this, calls, &answered] {
      for (store::Call* call : calls) {
        call->context = &answered;
        call->on_done = [](store::Call&, void* countdown) {
          static_cast<Countdown*>(countdown)->Tick();
        };
        if (leases_->store().Submit(*call) == store::Answered::kNow) answered.Tick();
      }
    });
    answered.Wait();
  }

  bool Walk(const std::function<bool(const store::KeyState&)>& /*visit*/) override { return false; }

  [[nodiscard]] LimiterStats Stats() const override { return {}; }
  lease::LeaseTable* Leases() override { return &node_.table; }

 private:
  // What this process holds is spent by the thread that asks; the loop is not bothered.
  bool AnswerHere(store::Call& call) {
    bool wants_more = false;
    if (!lease::AnswerFrom(node_.table, call, SteadyClock::Now(), wants_more)) return false;
    if (wants_more) FetchAhead(call.uses[0]);
    return true;
  }

  void FetchAhead(const store::Use& use) {
    std::string text(use.key.scope);
    text.append(use.key.tag).append(use.key.rest);
    thread_.loop().Post([this, text = std::move(text), scope = use.key.scope.size(),
                         tag = use.key.tag.size(), limit = *use.limit] {
      const std::string_view all = text;
      store::Use ahead;
      ahead.key = {.scope = all.substr(0, scope),
                   .tag = all.substr(scope, tag),
                   .rest = all.substr(scope + tag)};
      ahead.limit = &limit;
      leases_->store().FetchAhead(ahead);
    });
  }

  const redis::Options options_;
  lease::NodeLeases node_;
  net::LoopThread thread_;
  std::unique_ptr<redis::Service> client_;  ///< All three live on the loop's thread.
  std::unique_ptr<store::RedisStore> store_;
  std::unique_ptr<lease::LoopLeases> leases_;
};

}  // namespace

Result<std::unique_ptr<Backend>> MakeRedisBackend(const RedisLimiterOptions& options) {
  auto redis = redis::ParseUrl(options.url);
  if (!redis) return redis.error();
  if (const auto problem = redis::FindProblem(*redis)) return *problem;
  if (options.deadline < std::chrono::milliseconds(1)) {
    return Error{ErrorCode::kInvalidOptions, "deadline must be at least 1 ms, found " +
                                                 std::to_string(options.deadline.count()) + " µs"};
  }
  return std::unique_ptr<Backend>(std::make_unique<RedisBackend>(*redis, options.deadline));
}

}  // namespace sluice
