#include "lib/redis_thread.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/owned_key.h"
#include "denial/denial_store.h"
#include "redis/url.h"

namespace sluice {
namespace {

// A latch that may be destroyed as soon as Wait returns: Tick notifies before it releases the lock,
// and accesses nothing afterwards.
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

}  // namespace

Result<std::unique_ptr<RedisThread>> RedisThread::Make(const RedisLimiterOptions& options) {
  auto redis = redis::ParseUrl(options.url);
  if (!redis) return redis.error();
  if (const auto problem = redis::FindProblem(*redis)) return *problem;
  if (options.deadline < std::chrono::milliseconds(1)) {
    return Error{ErrorCode::kInvalidOptions, "deadline must be at least 1 ms, found " +
                                                 std::to_string(options.deadline.count()) + " µs"};
  }
  return std::make_unique<RedisThread>(*redis, options.deadline);
}

RedisThread::RedisThread(const redis::Options& redis, Micros deadline) : options_(redis) {
  thread_.Do([&] {
    path_ = std::make_unique<lease::RedisPath>(thread_.loop(), options_, node_,
                                               lease::RedisPathOptions{.deadline = deadline});
  });
}

RedisThread::~RedisThread() {
  thread_.Do([&] { path_->store().EndLeasing(); });
  for (bool returns = true; returns;) {  // At most for the deadline of a call.
    thread_.Do([&] { returns = path_->store().returns_under_way(); });
    if (returns) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  thread_.Do([&] { path_.reset(); });
}

store::Completion RedisThread::Submit(store::StoreCall& call) {
  store::StoreCall* const one = &call;
  if (!AnswerHere(call)) SubmitBatch({&one, 1});
  return store::Completion::kNow;
}

void RedisThread::SubmitBatch(std::span<store::StoreCall* const> calls) {
  Countdown answered(calls.size());
  thread_.loop().Post([this, calls, &answered] {
    for (store::StoreCall* call : calls) {
      call->context = &answered;
      call->on_done = [](store::StoreCall&, void* countdown) {
        static_cast<Countdown*>(countdown)->Tick();
      };
      if (path_->store().Submit(*call) == store::Completion::kNow) answered.Tick();
    }
  });
  answered.Wait();
}

// Leased tokens are spent, and remembered denials repeated, by the calling thread, without the
// loop.
bool RedisThread::AnswerHere(store::StoreCall& call) {
  bool wants_more = false;
  if (!lease::AnswerFrom(node_.table, call, SteadyClock::Now(), wants_more)) {
    return denial::AnswerFrom(node_.denials, call, [] { return SteadyClock::Now(); });
  }
  if (wants_more) FetchAhead(call.uses[0]);
  return true;
}

void RedisThread::FetchAhead(const store::KeyUse& use) {
  thread_.loop().Post([this, key = OwnedKey(use.key), limit = *use.limit] {
    store::KeyUse ahead;
    ahead.key = key.view();
    ahead.limit = &limit;
    path_->store().FetchAhead(ahead);
  });
}

}  // namespace sluice
