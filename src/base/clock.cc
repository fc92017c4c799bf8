#include "base/clock.h"

namespace sluice {

WallTime SystemClock::Now() const noexcept {
  return std::chrono::floor<Micros>(std::chrono::system_clock::now());
}

const SystemClock& TheSystemClock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace sluice
