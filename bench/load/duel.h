#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "load/generator.h"
#include "load/process.h"

namespace sluice::bench {

/// A server, and who asks it.
struct Side {
  const Process& server;
  Generator generator;
  Cores load_cores;
};

/// Two that are compared. There may be nobody to compare with.
struct Pair {
  Side ours;
  std::optional<Side> theirs;
};

/// What every reply of a measurement must be. Another one is thrown.
enum class Expect : std::uint8_t { kAllowed, kDenied };

/// How often and how long is measured. Sides take turns, and medians of the rounds count.
struct Rounds {
  int count;
  std::chrono::nanoseconds duration;
};

struct Speed {
  double per_second;
  double cpu_micros;    ///< Of the server, for each request.
  double server_busy;   ///< Processors that the server used, on average.
  double load_busy;     ///< The same of the generator.
  double kept_waiting;  ///< For which part of the time others kept the generator from running.
};

struct Latency {
  double per_second;      ///< As many as were answered.
  double p50, p99, p999;  ///< Microseconds.
};

/// What a pair came to.
template <typename Figures>
struct Compared {
  Figures ours;
  std::optional<Figures> theirs;
};

/// Both see each key once, so that none is new when it is measured.
void ShowKeys(Pair& pair, std::size_t depth);

/// In a closed loop.
Compared<Speed> CompareSpeed(Pair& pair, std::size_t depth, Expect expect, const Rounds& rounds);

/// In an open loop at this rate, where every call is allowed.
Compared<Latency> CompareLatency(Pair& pair, std::size_t depth, double per_second,
                                 const Rounds& rounds);

}  // namespace sluice::bench
