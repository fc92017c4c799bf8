#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace sluice {

/// A mutex with timed waiting, for std::unique_lock. Replaces std::timed_mutex, whose timed wait
/// causes false reports in GCC's ThreadSanitizer.
class TimedLock {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the names of the standard.
  void lock() {
    std::unique_lock guard(mutex_);
    released_.wait(guard, [this] { return !held_; });
    held_ = true;
  }
  bool try_lock() { return try_lock_for(std::chrono::seconds(0)); }
  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) {
    std::unique_lock guard(mutex_);
    if (!released_.wait_for(guard, timeout, [this] { return !held_; })) return false;
    held_ = true;
    return true;
  }
  void unlock() {
    {
      const std::lock_guard guard(mutex_);
      held_ = false;
    }
    released_.notify_one();
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  bool held_ = false;  ///< Guarded by mutex_.
};

}  // namespace sluice
