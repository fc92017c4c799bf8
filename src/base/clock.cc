#include "base/clock.h"

#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace sluice {
namespace {

std::chrono::nanoseconds Read(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

#if defined(__x86_64__)

// Time stamps of the processor as a clock: nanoseconds per tick, times 2^32, less a margin.
struct TimeStamps {
  std::uint64_t rate = 0;          // 0: not usable.
  std::uint64_t anchor_ticks = 0;  // How long an anchor is used: about a millisecond.
};

// Covers the error of the calibration (below 0.05 %) and the slewing of the wall clock (0.05 %).
constexpr std::uint64_t kMarginDivisor = 512;

bool KernelTrustsTimeStamps() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kInvariant = 1U << 8;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & kInvariant) == 0) return false;
  std::string source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
  return source == "tsc";
}

struct Sample {
  std::uint64_t ticks;
  std::int64_t nanos;
};

// The time stamp of a clock read, of the attempt that was disturbed least.
Sample SampleClock() {
  Sample best{};
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = __rdtsc();
    const std::int64_t nanos = Read(CLOCK_MONOTONIC).count();
    const std::uint64_t after = __rdtsc();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, nanos};
  }
  return best;
}

TimeStamps Calibrate() {
  if (!KernelTrustsTimeStamps()) return {};
  constexpr std::int64_t kCalibrationNanos = 500'000;
  const Sample first = SampleClock();
  Sample last = SampleClock();
  while (last.nanos - first.nanos < kCalibrationNanos) last = SampleClock();
  const std::uint64_t ticks = last.ticks - first.ticks;
  const auto nanos = static_cast<std::uint64_t>(last.nanos - first.nanos);
  if (ticks == 0 || ticks > UINT32_MAX || nanos > UINT32_MAX) return {};  // Suspended meanwhile.
  const std::uint64_t exact = (nanos << 32) / ticks;
  return {.rate = exact - exact / kMarginDivisor, .anchor_ticks = ticks * 1'000'000 / nanos};
}

WallTime WallTimeByTimeStamps() noexcept {
  struct Anchor {
    std::uint64_t ticks = 0;
    std::uint64_t valid_ticks = 0;
    std::uint64_t rate = 0;
    std::uint64_t nanos = 0;
  };
  constinit thread_local Anchor anchor;
  const std::uint64_t elapsed = __rdtsc() - anchor.ticks;
  if (elapsed < anchor.valid_ticks) [[likely]] {
    const std::uint64_t nanos = anchor.nanos + (elapsed * anchor.rate >> 32);
    return WallTime{Micros{static_cast<std::int64_t>(nanos / 1000)}};
  }
  static const TimeStamps time_stamps = Calibrate();
  const std::chrono::nanoseconds now = Read(CLOCK_REALTIME);
  if (time_stamps.rate != 0) {
    // Read after the clock: a delay in between makes the result late, never early.
    anchor = {.ticks = __rdtsc(),
              .valid_ticks = time_stamps.anchor_ticks,
              .rate = time_stamps.rate,
              .nanos = static_cast<std::uint64_t>(now.count())};
  }
  return WallTime{std::chrono::floor<Micros>(now)};
}

#endif

}  // namespace

WallTime FastWallTime() noexcept {
#if defined(__x86_64__)
  return WallTimeByTimeStamps();
#else
  return TheSystemClock().Now();
#endif
}

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
