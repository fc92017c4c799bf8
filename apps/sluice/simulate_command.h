#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <sluice/time.h>

#include "simulate/trace_time.h"

namespace sluice::app {

enum class ShowProgress : std::uint8_t { kOnTerminal, kAlways, kNever };

struct SimulateOptions {
  std::string rules;
  std::string traffic;  ///< "-": standard input.
  std::string entries;  ///< A file of live entries; empty: none.
  std::string against;  ///< Empty: nothing to compare with.
  bool json = false;
  ShowProgress progress = ShowProgress::kOnTerminal;
  std::size_t top = 10;
  std::size_t examples = 5;
  simulate::TimeUnit unit = simulate::TimeUnit::kByMagnitude;
  Micros tolerance = std::chrono::seconds(1);  ///< How far a row may go back.
  std::size_t max_keys = 10'000'000;
};

/// Replays a trace through rules, and prints what they would have done. Returns the exit code.
int Simulate(const SimulateOptions& options);

}  // namespace sluice::app
