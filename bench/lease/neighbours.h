#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace sluice::bench {

/// What keys see while one of them is asked for far more than all others.
struct Neighbour {
  std::string mode;
  double hot_per_second = 0;  ///< Of that one; 0: it is silent.
  double p50 = 0;             ///< Of the others, in µs.
  double p99 = 0;
  double redis_per_second = 0;  ///< Calls of Redis.
};

/// Measures, and prints a line for each mode without the hot key, and one with it.
std::vector<Neighbour> ShowNeighbours(const std::string& rules, std::chrono::nanoseconds duration);

}  // namespace sluice::bench
