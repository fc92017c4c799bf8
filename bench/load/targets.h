#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/duel.h"

namespace sluice::bench {

/// What a line of a benchmark should reach. Zero: nothing is asked.
struct Targets {
  double rate = 0;        ///< At least so many times the rate of the other side.
  double cpu = 0;         ///< At most so many times the CPU per request of the other side.
  double per_second = 0;  ///< At least this rate.
};

struct Judgement {
  enum class Outcome : std::uint8_t {
    kMet,
    kMissed,
    kUnknown,  ///< The other side was skipped.
  };
  std::string target;  ///< "rate ≥ 1.5x"
  Outcome outcome;
  bool by_cpu = false;  ///< The server was not busy.
};

/// "met", "missed by CPU (the server was not busy)" and so on.
[[nodiscard]] std::string VerdictOf(const Judgement& judgement);

/// Compares what was measured, of a server of so many event loops, with what should be. A rate is
/// that of the server only if its loops were busy. Where they were not, the load was the limit, and
/// the rate that its CPU per request would allow is judged instead.
[[nodiscard]] std::vector<Judgement> Judge(const Targets& targets, const Compared<Speed>& measured,
                                           int loops);

}  // namespace sluice::bench
