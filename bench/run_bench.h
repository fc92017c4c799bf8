#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sluice::bench {

/// What every benchmark is told.
struct Options {
  bool quick = false;     ///< Fewer and shorter rounds: for trying whether it runs.
  bool alone = false;     ///< Without the peers: only what is ours is measured.
  std::string json{};     ///< Where the figures go, too; empty: nowhere.
  std::string variant{};  ///< The benchmark's own flag that was given; empty: none.
};

/// The main() of a benchmark: understands --quick, --alone, --json FILE and the benchmark's own
/// flags, and calls `run`. What that throws is printed, and the program ends with 1.
int RunBench(const char* program, int argc, char** argv,
             const std::function<void(const Options&)>& run,
             const std::vector<std::string>& variants = {});

/// What lies in the middle. Of at least one value.
double Median(std::vector<double> values);

}  // namespace sluice::bench
