#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace sluice::telemetry {

/// Lets one through in each interval, and counts the others. Thread-safe: what is counted while
/// another thread is let through is reported the next time.
///
///     static LogEvery every{std::chrono::seconds(10)};
///     log.Write(every, loop.Now(), LogLevel::kWarn, "store failed", {{"error", "timeout"}});
class LogEvery {
 public:
  explicit LogEvery(Micros interval) : interval_(interval.count()) {}

  /// Whether Pass would let one through: for what happens too often to be counted here.
  [[nodiscard]] bool IsDue(SteadyTime now) const {
    return now.time_since_epoch().count() >= next_.load(std::memory_order_relaxed);
  }

  /// Nothing if it is too early; else how many were held back since the last time.
  std::optional<std::uint64_t> Pass(SteadyTime now) {
    const std::int64_t at = now.time_since_epoch().count();
    // Relaxed throughout: the numbers guard nothing but themselves.
    std::int64_t next = next_.load(std::memory_order_relaxed);
    if (at < next ||
        !next_.compare_exchange_strong(next, at + interval_, std::memory_order_relaxed)) {
      held_back_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    return held_back_.exchange(0, std::memory_order_relaxed);
  }

 private:
  const std::int64_t interval_;
  std::atomic<std::int64_t> next_{INT64_MIN};
  std::atomic<std::uint64_t> held_back_{0};
};

}  // namespace sluice::telemetry
