#include "load/contest.h"

#include <chrono>
#include <cstdio>

namespace sluice::bench {

Contest::Contest(const Options& options, const std::string& about)
    : rounds_(options.quick ? Rounds{3, std::chrono::milliseconds(300)}
                            : Rounds{5, std::chrono::seconds(2)}),
      json_(options.json) {
  std::printf("%s; limits in memory; medians of %d rounds of %.1f s\n", about.c_str(),
              rounds_.count, std::chrono::duration<double>(rounds_.duration).count());
}

std::vector<Most> Contest::Speeds(const std::string& what, Pair& pair, Expect expect,
                                  std::span<const Depth> depths, int loops) {
  ShowKeys(pair, depths.back().depth);
  std::vector<Most> most;
  for (const Depth& d : depths) {
    const Compared<Speed> measured = CompareSpeed(pair, d.depth, expect, rounds_);
    report_.Add(what, d.depth, measured, d.targets, loops);
    most.push_back({measured.ours.per_second, measured.theirs ? measured.theirs->per_second : 0});
  }
  return most;
}

void Contest::Latencies(const std::string& what, Pair& pair, std::span<const Depth> depths,
                        const std::vector<Most>& most, double Most::* whose) {
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const double rate = most[i].*whose / 2;
    report_.Add(what, depths[i].depth, rate, CompareLatency(pair, depths[i].depth, rate, rounds_));
  }
}

void Contest::Finish() const {
  report_.PrintSum();
  if (!json_.empty()) report_.WriteJson(json_);
}

}  // namespace sluice::bench
