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

/// The memory that input and output of all connections of the process occupy, and its bound.
/// Connections report what they hold when it has changed by some kilobytes: most never do.
///
/// Near the bound, connections that hold much are not read from. Above it the largest holders are
/// closed, whichever loop they belong to: holders are counted by size class (powers of two), each
/// loop closes those of its connections that are in the largest class of all, and loops that are
/// idle are woken for it. Thread-safe.
class MemoryBudget {
 public:
  /// A connection that holds no more than this is read from in any case.
  static constexpr std::size_t kFreeBytes = std::size_t{16} << 10;
  /// Smaller changes are not reported.
  static constexpr std::size_t kStep = std::size_t{4} << 10;

  explicit MemoryBudget(std::size_t most) : most_(most) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  [[nodiscard]] std::size_t most() const { return most_; }
  // Relaxed, here and below: a number of bytes, through which nothing else is read.
  [[nodiscard]] std::size_t used() const {
    const std::int64_t used = used_.load(std::memory_order_relaxed);
    return used > 0 ? static_cast<std::size_t>(used) : 0;
  }
  /// Close to the bound: who holds much is not read from.
  [[nodiscard]] bool is_short() const { return used() >= most_ - most_ / 4; }
  [[nodiscard]] bool is_exceeded() const { return used() > most_; }

  /// A connection that held `before` holds `now`.
  void Change(std::size_t before, std::size_t now);

  /// Holders of at least so many bytes are to be closed first.
  [[nodiscard]] std::size_t LargestHolders() const;

  /// The highest use since the last call, and the use now as the next one's beginning.
  [[nodiscard]] std::size_t TakePeak();

  /// Something that closes the largest holders of one loop when it is run, from any thread.
  using Relief = std::function<void()>;
  /// Forgotten with the returned handle.
  [[nodiscard]] std::shared_ptr<void> Enlist(Relief relief);
  /// Runs all reliefs, but not again within a few milliseconds.
  void CallForRelief(SteadyTime now);

 private:
  static constexpr std::size_t kClasses = 64;

  const std::size_t most_;
  std::atomic<std::int64_t> used_{0};
  std::atomic<std::int64_t> peak_{0};
  std::array<std::atomic<std::int32_t>, kClasses> holders_{};  ///< By the width of their bytes.
  std::atomic<std::int64_t> last_call_{0};
  std::mutex mutex_;  ///< Over `reliefs_`.
  std::vector<std::weak_ptr<Relief>> reliefs_;
};

}  // namespace sluice::transport
