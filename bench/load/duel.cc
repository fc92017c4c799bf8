#include "load/duel.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "run_bench.h"

namespace sluice::bench {
namespace {

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double Micros(std::chrono::nanoseconds time) { return Seconds(time) * 1e6; }

double Answered(const Tally& tally) { return static_cast<double>(tally.allowed + tally.denied); }

void Check(const Tally& tally, Expect expect) {
  const bool allowed = expect == Expect::kAllowed;
  const std::uint64_t others = allowed ? tally.denied : tally.allowed;
  if (others == 0) return;
  throw std::runtime_error(std::to_string(others) + " calls were " +
                           (allowed ? "denied" : "allowed") + ": not a measurement");
}

Speed OneSpeed(Side& side, std::size_t depth, Expect expect, std::chrono::nanoseconds duration) {
  RunOn(side.load_cores);
  const std::chrono::nanoseconds before = side.server.Cpu();
  const Tally tally = side.generator.Closed(depth, duration);
  const double cpu = Seconds(side.server.Cpu() - before);
  Check(tally, expect);
  const double took = Seconds(tally.took);
  return {.per_second = Answered(tally) / took,
          .cpu_micros = cpu * 1e6 / Answered(tally),
          .server_busy = cpu / took,
          .load_busy = Seconds(tally.cpu) / took,
          .kept_waiting = Seconds(tally.kept_waiting) / took};
}

Latency OneLatency(Side& side, std::size_t depth, double per_second,
                   std::chrono::nanoseconds duration) {
  RunOn(side.load_cores);
  Histogram latencies;
  const Tally tally = side.generator.Open(depth, per_second, duration, latencies);
  Check(tally, Expect::kAllowed);
  return {.per_second = Answered(tally) / Seconds(tally.took),
          .p50 = Micros(latencies.Quantile(0.5)),
          .p99 = Micros(latencies.Quantile(0.99)),
          .p999 = Micros(latencies.Quantile(0.999))};
}

template <typename Figures>
double MedianOf(const std::vector<Figures>& rounds, double Figures::* figure) {
  std::vector<double> values;
  for (const Figures& round : rounds) values.push_back(round.*figure);
  return Median(std::move(values));
}

Speed MedianOf(const std::vector<Speed>& rounds) {
  return {.per_second = MedianOf(rounds, &Speed::per_second),
          .cpu_micros = MedianOf(rounds, &Speed::cpu_micros),
          .server_busy = MedianOf(rounds, &Speed::server_busy),
          .load_busy = MedianOf(rounds, &Speed::load_busy),
          .kept_waiting = MedianOf(rounds, &Speed::kept_waiting)};
}

Latency MedianOf(const std::vector<Latency>& rounds) {
  return {.per_second = MedianOf(rounds, &Latency::per_second),
          .p50 = MedianOf(rounds, &Latency::p50),
          .p99 = MedianOf(rounds, &Latency::p99),
          .p999 = MedianOf(rounds, &Latency::p999)};
}

// Peer, we, peer, we: what changes on the machine meanwhile changes both.
template <typename Measure>
auto TakeTurns(Pair& pair, int rounds, const Measure& measure) {
  using Figures = decltype(measure(pair.ours));
  std::vector<Figures> ours;
  std::vector<Figures> theirs;
  for (int i = 0; i < rounds; ++i) {
    if (pair.theirs) theirs.push_back(measure(*pair.theirs));
    ours.push_back(measure(pair.ours));
  }
  Compared<Figures> compared{MedianOf(ours), std::nullopt};
  if (pair.theirs) compared.theirs = MedianOf(theirs);
  return compared;
}

}  // namespace

void ShowKeys(Pair& pair, std::size_t depth) {
  pair.ours.generator.EachKeyOnce(depth);
  if (pair.theirs) pair.theirs->generator.EachKeyOnce(depth);
}

Compared<Speed> CompareSpeed(Pair& pair, std::size_t depth, Expect expect, const Rounds& rounds) {
  return TakeTurns(pair, rounds.count,
                   [&](Side& side) { return OneSpeed(side, depth, expect, rounds.duration); });
}

Compared<Latency> CompareLatency(Pair& pair, std::size_t depth, double per_second,
                                 const Rounds& rounds) {
  return TakeTurns(pair, rounds.count, [&](Side& side) {
    return OneLatency(side, depth, per_second, rounds.duration);
  });
}

}  // namespace sluice::bench
