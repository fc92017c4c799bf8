#pragma once

#include <chrono>

#include <sluice/time.h>

namespace sluice {

/// The system's wall clock, in whole microseconds. The only place that reads it.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallTime Now() const noexcept override;
};

/// The process-wide clock.
const SystemClock& TheSystemClock();

class SteadyClock;

/// A moment that deadlines and durations are measured by. It says nothing about the date, and can't
/// be mistaken for a WallTime.
using SteadyTime = std::chrono::time_point<SteadyClock, Micros>;

/// Never jumps, whatever happens to the date, and goes on while the machine sleeps: what was
/// promised until a deadline is over after it.
class SteadyClock {
 public:
  [[nodiscard]] static SteadyTime Now() noexcept;
  /// The same clock for those who measure what takes less than a microsecond; since some moment in
  /// the past.
  [[nodiscard]] static std::chrono::nanoseconds NowInNanos() noexcept;
};

/// Since the machine started, not counting when it slept: the clock that systemd compares by.
[[nodiscard]] Micros MonotonicMicros() noexcept;

}  // namespace sluice
