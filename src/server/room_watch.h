#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <sluice/time.h>

#include "base/clock.h"

namespace sluice::server {

/// Whether keys have lately had no room, and when to say so in the log: at most once a minute.
/// Updated by one thread; any may read.
class RoomWatch {
 public:
  static constexpr Micros kQuiet = std::chrono::minutes(1);

  /// `refused`: calls that had no room, since the start. Returns how many of them a log line should
  /// tell of now; 0: none.
  std::uint64_t Update(std::uint64_t refused, SteadyTime now);

  /// Within the last minute, about. Relaxed: nothing else is read through it.
  [[nodiscard]] bool is_full() const { return is_full_.load(std::memory_order_relaxed); }

 private:
  std::uint64_t seen_ = 0;
  std::uint64_t logged_ = 0;
  SteadyTime last_refusal_{};
  SteadyTime last_log_{};
  bool has_logged_ = false;
  std::atomic<bool> is_full_{false};
};

}  // namespace sluice::server
