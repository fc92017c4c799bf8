#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "load/duel.h"
#include "load/report.h"
#include "load/targets.h"
#include "run_bench.h"

namespace sluice::bench {

/// How deep to ask, and what should come of it.
struct Depth {
  std::size_t depth;
  Targets targets{};
};

/// How many calls a second each side managed. Theirs is 0 if there is nobody.
struct Most {
  double ours;
  double theirs;
};

/// All that one benchmark measures: rounds of the same length, one report.
class Contest {
 public:
  /// `about` is its first line.
  Contest(const Options& options, const std::string& about);

  Report& report() { return report_; }

  /// A line for each depth. Returns how many calls a second were managed at each.
  std::vector<Most> Speeds(const std::string& what, Pair& pair, Expect expect,
                           std::span<const Depth> depths, int loops = 1);
  /// A line for each depth, at half of what one side managed there.
  void Latencies(const std::string& what, Pair& pair, std::span<const Depth> depths,
                 const std::vector<Most>& most, double Most::* whose = &Most::ours);

  /// The sum, and the figures for programs if they are wanted.
  void Finish() const;

 private:
  Rounds rounds_;
  std::string json_;
  Report report_;
};

}  // namespace sluice::bench
