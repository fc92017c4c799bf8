#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include "base/clock.h"
#include "net/loop.h"

namespace sluice::server {

struct SharedWorkOptions {
  std::size_t threads = 1;
  std::size_t max_waiting = 0;  ///< Tasks that may wait for a thread; 0: no bound.
  /// After a run a thread rests three times as long as the run took (a second at most), so that no
  /// flood of requests gets more than a quarter of a core. Without a rest the number of requests
  /// must be bounded by other means.
  bool rests = true;
};

/// Slow work that clients ask for, on threads of its own: one run of a task answers everybody who
/// asked for it before the run began. With one thread, there is one task at a time, and however
/// many ask, a caller waits for one run of each other task and two of its own at most.
///
/// Thread-safe. Callers' loops must outlive it, or Stop.
///
/// `Task` is comparable; it says what to do. `Result` is what comes of it.
template <typename Task, typename Result>
class SharedWork {
 public:
  using Run = std::function<Result(const Task&)>;
  using Done = std::function<void(const std::shared_ptr<const Result>&)>;

  explicit SharedWork(Run run, const SharedWorkOptions& options = {})
      : run_(std::move(run)), options_(options), running_(options.threads) {
    for (std::size_t i = 0; i < options.threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~SharedWork() { Stop(); }
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// Runs `done` in a later turn of `caller`; never, if this is stopped before. False: as many
  /// tasks wait as may.
  bool Ask(const Task& task, net::Loop& caller, Done done) {
    {
      const std::lock_guard lock(mutex_);
      auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                [&](const Batch& batch) { return batch.task == task; });
      if (found == waiting_.end()) {
        if (options_.max_waiting > 0 && waiting_.size() >= options_.max_waiting) return false;
        waiting_.push_back({.task = task, .callers = {}});
        found = std::prev(waiting_.end());
      }
      found->Of(caller).push_back(std::move(done));
    }
    wake_.notify_all();
    return true;
  }

  /// Waits for the runs under way, and starts no other. Callbacks that have not run are kept until
  /// this is destroyed.
  void Stop() {
    static_cast<void>(TryStop(Micros{0}));
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  /// The same, but waits for so long at most. False: a run has not ended.
  [[nodiscard]] bool TryStop(Micros timeout) {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    wake_.notify_all();
    return wake_.wait_for(lock, timeout, [this] { return running_ == 0; });
  }

  /// How often work was run so far.
  [[nodiscard]] std::uint64_t runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
  }

 private:
  static constexpr int kRestPerWork = 3;
  static constexpr Micros kLongestRest = std::chrono::seconds(1);
  /// Of one turn of a caller's loop, for callbacks.
  static constexpr Micros kTurnShare = std::chrono::milliseconds(1);

  struct Callers {
    net::Loop* loop;
    std::vector<Done> callbacks;
  };
  struct Batch {
    Task task;
    std::vector<Callers> callers;

    std::vector<Done>& Of(net::Loop& loop) {
      for (Callers& known : callers) {
        if (known.loop == &loop) return known.callbacks;
      }
      return callers.emplace_back(Callers{.loop = &loop, .callbacks = {}}).callbacks;
    }
  };
  /// Delivers results to the callers of one loop, over as many turns as it takes.
  struct Delivery {
    std::shared_ptr<const Result> result;
    Callers to;
    std::size_t next = 0;
  };

  void Work() {
    pthread_setname_np(pthread_self(), "sluice-work");
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
      if (stopped_) break;
      Batch batch = std::move(waiting_.front());
      waiting_.pop_front();
      ++runs_;
      lock.unlock();
      const SteadyTime began = SteadyClock::Now();
      const auto result = std::make_shared<const Result>(run_(batch.task));
      const Micros took = std::chrono::ceil<Micros>(SteadyClock::Now() - began);
      for (Callers& callers : batch.callers) {
        Deliver(std::make_shared<Delivery>(
            Delivery{.result = result, .to = std::move(callers), .next = 0}));
      }
      lock.lock();
      if (!options_.rests) continue;
      wake_.wait_for(lock, std::min(took * kRestPerWork, kLongestRest),
                     [this] { return stopped_; });
    }
    --running_;
    wake_.notify_all();
  }

  static void Deliver(std::shared_ptr<Delivery> delivery) {
    net::Loop& loop = *delivery->to.loop;
    loop.Post([delivery = std::move(delivery)] {
      const SteadyTime end = SteadyClock::Now() + kTurnShare;
      std::vector<Done>& callbacks = delivery->to.callbacks;
      while (delivery->next < callbacks.size()) {
        std::exchange(callbacks[delivery->next++], nullptr)(delivery->result);
        if (SteadyClock::Now() >= end) break;
      }
      if (delivery->next < callbacks.size()) Deliver(delivery);
    });
  }

  const Run run_;
  const SharedWorkOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Batch> waiting_;
  std::uint64_t runs_ = 0;
  bool stopped_ = false;
  std::size_t running_;               ///< Threads that have not ended.
  std::vector<std::thread> threads_;  ///< The last: they use everything above.
};

}  // namespace sluice::server
