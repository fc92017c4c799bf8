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

/// Returns the wall clock's time at about half the cost. Between two reads of the clock, at most a
/// millisecond apart on each thread, it counts the processor's time stamps at a rate that is 0.2 %
/// too low: the result is never ahead of the clock, and behind it by a few microseconds. Where the
/// kernel itself does not trust the time stamps, it reads the clock.
[[nodiscard]] WallTime FastWallTime() noexcept;

class SteadyClock;

/// A time for deadlines and durations. Unrelated to the date; a distinct type from WallTime.
using SteadyTime = std::chrono::time_point<SteadyClock, Micros>;

/// Monotonic, and continues while the machine is suspended: a deadline passes during suspension,
/// too.
class SteadyClock {
 public:
  [[nodiscard]] static SteadyTime Now() noexcept;
  /// Returns the time of the same clock in nanoseconds since an arbitrary epoch, for measurements.
  [[nodiscard]] static std::chrono::nanoseconds NowInNanos() noexcept;
};

/// Returns the time since boot without suspension (CLOCK_MONOTONIC), as systemd expects it.
[[nodiscard]] Micros MonotonicMicros() noexcept;

}  // namespace sluice
