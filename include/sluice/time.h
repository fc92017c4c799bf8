#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

/// All durations are whole microseconds, in memory and in Redis.
using Micros = std::chrono::microseconds;

/// Wall-clock time, microseconds since the Unix epoch. Windows are aligned to that epoch.
using WallTime = std::chrono::sys_time<Micros>;

/// Times are clamped between the epoch and this moment (in the year 2112), so that sums of times
/// are exact in the doubles of Redis' Lua.
inline constexpr WallTime kMaxTime{Micros{std::int64_t{1} << 52}};

/// The longest reported wait.
inline constexpr Micros kMaxWait{(std::int64_t{1} << 53) - 1};

/// Source of the current time. Thread-safe. Implement it to supply your own time.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime Now() const noexcept = 0;
};

}  // namespace sluice
