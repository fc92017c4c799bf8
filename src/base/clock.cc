#include "base/clock.h"

#include <ctime>

namespace sluice {
namespace {

std::chrono::nanoseconds Read(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

WallTime SystemClock::Now() const noexcept {
  return std::chrono::floor<Micros>(std::chrono::system_clock::now());
}

const SystemClock& TheSystemClock() {
  static const SystemClock clock;
  return clock;
}

SteadyTime SteadyClock::Now() noexcept {
  return SteadyTime(std::chrono::floor<Micros>(NowInNanos()));
}

std::chrono::nanoseconds SteadyClock::NowInNanos() noexcept { return Read(CLOCK_BOOTTIME); }

Micros MonotonicMicros() noexcept { return std::chrono::floor<Micros>(Read(CLOCK_MONOTONIC)); }

}  // namespace sluice
