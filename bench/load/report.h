#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "load/duel.h"
#include "load/targets.h"

namespace sluice::bench {

/// What was measured, for people as it comes, and for programs at the end.
class Report {
 public:
  /// Speeds follow, of these two.
  void BeginSpeeds(const std::string& title, const std::string& ours, const std::string& theirs);
  /// `what` and the depth say what was done; the server had so many event loops.
  void Add(const std::string& what, std::size_t depth, const Compared<Speed>& measured,
           const Targets& targets, int loops = 1);

  /// Latencies follow, of these two.
  void BeginLatencies(const std::string& title, const std::string& ours, const std::string& theirs);
  void Add(const std::string& what, std::size_t depth, double per_second,
           const Compared<Latency>& measured);

  /// How many of the targets are met, and whether the figures are worth anything.
  void PrintSum() const;
  void WriteJson(const std::string& path) const;

 private:
  struct SpeedLine {
    std::string what, ours, theirs;
    std::size_t depth;
    int loops;
    Compared<Speed> measured;
    std::vector<Judgement> judgements;
  };
  struct LatencyLine {
    std::string what, ours, theirs;
    std::size_t depth;
    double per_second;
    Compared<Latency> measured;
  };

  void PrintWarning() const;

  std::string ours_, theirs_;
  std::vector<SpeedLine> speeds_;
  std::vector<LatencyLine> latencies_;
};

}  // namespace sluice::bench
