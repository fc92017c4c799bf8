#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "simulate/comparison.h"
#include "simulate/simulation.h"

namespace sluice::app {

using simulate::ChangedCall;
using simulate::Changes;
using simulate::Comparison;
using simulate::DeniedKeys;
using simulate::LimitTally;
using simulate::Reason;
using simulate::RuleTally;
using simulate::Simulation;
using simulate::SimulationTally;

/// Counts of the rows of a trace.
struct TraceSummary {
  std::string file;
  std::uint64_t calls = 0;
  std::uint64_t bad_rows = 0;
  std::uint64_t late_rows = 0;  ///< A little out of order; evaluated at the time of the one before.
  WallTime first{};
  WallTime last{};
};

/// The contents of a report.
struct SimulationResult {
  TraceSummary trace;
  const Simulation* rules = nullptr;
  const Simulation* against = nullptr;  ///< Null: there is nothing to compare with.
  const Comparison* comparison = nullptr;
  std::size_t top = 10;  ///< How many keys are reported of each rule.
};

/// For people, and for programs.
[[nodiscard]] std::string TextReport(const SimulationResult& result);
[[nodiscard]] std::string JsonReport(const SimulationResult& result);

/// The keys that were denied most, the most first; equal ones by name.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> DeniedMost(const DeniedKeys& keys,
                                                                            std::size_t top);

}  // namespace sluice::app
