#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

namespace sluice {

/// A lock for a few dozen instructions, in four bytes. Under contention it yields, so that a holder
/// that lost its processor gets it back. Works with std::lock_guard.
class SpinLock {
 public:
  void lock() noexcept {
    while (!try_lock()) {
      // Reading until it looks free keeps the line shared between those who wait.
      for (int spins = 0; held_.load(std::memory_order_relaxed) != 0; ++spins) {
        if (spins < kSpinsBeforeYield) {
          Pause();
        } else {
          sched_yield();
        }
      }
    }
  }

  // Acquire pairs with the release in unlock: what the last holder wrote is seen.
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
