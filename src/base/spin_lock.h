#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

namespace sluice {

/// A 4-byte lock for critical sections of a few dozen instructions. Yields under contention, so
/// that a preempted holder can continue. Works with std::lock_guard.
class SpinLock {
 public:
  void lock() noexcept {
    while (!try_lock()) {
      // Spinning on a read keeps the cache line shared between waiting threads.
      for (int spins = 0; held_.load(std::memory_order_relaxed) != 0; ++spins) {
        if (spins < kSpinsBeforeYield) {
          Pause();
        } else {
          sched_yield();
        }
      }
    }
  }

  // Acquire pairs with the release in unlock.
  bool try_lock() noexcept { return held_.exchange(1, std::memory_order_acquire) == 0; }
  void unlock() noexcept { held_.store(0, std::memory_order_release); }

 private:
  static void Pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  static constexpr int kSpinsBeforeYield = 64;
  std::atomic<std::uint32_t> held_{0};
};

}  // namespace sluice
