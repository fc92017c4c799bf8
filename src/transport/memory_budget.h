#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace sluice::transport {

/// Bounds the memory for input and output of all connections of the process. Connections report
/// changes of at least kStep bytes; most never do.
///
/// Near the bound, reading stops on connections above kFreeBytes. Above it, the largest connections
/// of all loops are closed: connections are counted by size class (powers of two), each loop closes
/// those of its connections that are in the largest class, and idle loops are woken for it.
/// Thread-safe.
class MemoryBudget {
 public:
  /// A connection up to this size is always read from.
  static constexpr std::size_t kFreeBytes = std::size_t{16} << 10;
  /// Smaller changes are not reported.
  static constexpr std::size_t kStep = std::size_t{4} << 10;

  explicit MemoryBudget(std::size_t most) : most_(most) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  [[nodiscard]] std::size_t most() const { return most_; }
  // Relaxed, here and below: independent counters.
  [[nodiscard]] std::size_t used() const {
    const std::int64_t used = used_.load(std::memory_order_relaxed);
    return used > 0 ? static_cast<std::size_t>(used) : 0;
  }
  /// True near the bound: large connections are not read from.
  [[nodiscard]] bool is_short() const { return used() >= most_ - most_ / 4; }
  [[nodiscard]] bool is_exceeded() const { return used() > most_; }

  /// Records that a connection's size changed from `before` to `now`.
  void Change(std::size_t before, std::size_t now);

  /// Returns the size from which connections are to be closed first.
  [[nodiscard]] std::size_t LargestHolders() const;

  /// Returns the peak since the last call and resets it to the current use.
  [[nodiscard]] std::size_t TakePeak();

  /// Callback that closes the largest connections of one loop; called from any thread.
  using Relief = std::function<void()>;
  /// Registers a callback for the lifetime of the returned handle.
  [[nodiscard]] std::shared_ptr<void> Enlist(Relief relief);
  /// Calls all callbacks, at most once every few milliseconds.
  void CallForRelief(SteadyTime now);

 private:
  static constexpr std::size_t kClasses = 64;

  const std::size_t most_;
  std::atomic<std::int64_t> used_{0};
  std::atomic<std::int64_t> peak_{0};
  std::array<std::atomic<std::int32_t>, kClasses>
      holders_{};  ///< Connections by bit width of their size.
  std::atomic<std::int64_t> last_call_{0};
  std::mutex mutex_;  ///< Guards `reliefs_`.
  std::vector<std::weak_ptr<Relief>> reliefs_;
};

}  // namespace sluice::transport
