#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/clock.h"

namespace sluice::redis::testing {

/// Waits until it is so. Throws if that takes too long.
inline void Await(const std::string& what, const std::function<bool()>& is_so) {
  const SteadyTime give_up = SteadyClock::Now() + std::chrono::seconds(30);
  while (!is_so()) {
    if (SteadyClock::Now() > give_up) throw std::runtime_error("too long until " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace sluice::redis::testing
