#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

/// All durations are whole microseconds: the same in memory and in Redis.
using Micros = std::chrono::microseconds;

/// Wall-clock time, microseconds since the Unix epoch. Windows are aligned to that epoch.
using WallTime = std::chrono::sys_time<Micros>;

/// Times are held between the epoch and this moment (in the year 2112); others are clamped.
/// The bound keeps sums of times exact in the doubles of Redis' Lua.
inline constexpr WallTime kMaxTime{Micros{std::int64_t{1} << 52}};

/// The longest wait that is ever reported.
inline constexpr Micros kMaxWait{(std::int64_t{1} << 53) - 1};

/// Where "now" comes from. Thread-safe. Implement it to bring your own time.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime Now() const noexcept = 0;
};

}  // namespace sluice
