// Leases beside asking Redis every time: the same servers, rules that differ in `consistency` only,
// in turns. docs/leases.md explains the columns.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "fleet.h"
#include "ledger.h"
#include "load/duel.h"
#include "load/report.h"
#include "neighbours.h"
#include "run_bench.h"
#include "traffic.h"

namespace sluice::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint32_t kFewKeys = 4;
constexpr std::uint32_t kManyKeys = 10'000;
constexpr std::uint32_t kColdKeys = 100'000;
/// Of calls on a schedule, in all: what a few cores manage also without leases.
constexpr double kPerSecond = 10'000;

Limit BucketOf(std::int64_t per_second) {
  return *Limit::TokenBucket({.capacity = per_second, .refill = Rate::PerSecond(per_second)});
}

struct Traffic {
  const char* name;
  std::int64_t limit;
  std::uint32_t keys;
  bool zipf;
};
constexpr std::array kTraffics{Traffic{"hot", kHotLimit, kFewKeys, false},
                               Traffic{"zipf", kZipfLimit, kManyKeys, true},
                               Traffic{"uniform", kZipfLimit, kColdKeys, false}};

/// What one way to decide came to.
struct Line {
  std::string traffic, mode, store;
  std::size_t nodes = 0;
  double per_second = 0;  ///< As fast as it goes.
  double redis_cpu = 0;   ///< Of Redis for each check, in µs, as fast as it goes.
  double p50 = 0;         ///< On a schedule, in µs; as are all that follow.
  double p99 = 0;
  double redis_share = 0;  ///< Calls of Redis for each check.
  double deficit = 0;
  std::int64_t over = 0;  ///< In all rounds.
};

/// Leased by exact.
struct Ratio {
  std::string traffic, store;
  std::size_t nodes = 0;
  double rate = 0;
  double lower_quartile = 0;
  double redis_cpu = 0;
};

class Bench {
 public:
  explicit Bench(const Options& options)
      : rounds_(options.quick ? 3 : 7),
        closed_(options.quick ? milliseconds(400) : milliseconds(2'000)),
        open_(options.quick ? milliseconds(1'000) : milliseconds(5'000)),
        json_(options.json) {}

  void Run() {
    std::printf("RESP, %zu connections, medians of %d rounds; k/s: as fast as it goes, %zu deep; ",
                kConnections, rounds_, kDepth);
    std::printf("the rest: %.0f calls a second on a schedule\n", kPerSecond);
    std::printf("hot: %u keys, 1.25 times their limits; zipf: %u keys, the first far over theirs; ",
                kFewKeys, kManyKeys);
    std::printf("uniform: %u keys\n", kColdKeys);
    CompareModes();
    CompareWithMemory();
    RunOn(cores_);  // Where it was pinned to a part of them.
    neighbours_ = ShowNeighbours(Rules(), open_);
    if (!json_.empty()) WriteJson();
    for (const Line& line : lines_) {
      if (line.over > 0) throw std::runtime_error("more was admitted than the limits allow");
    }
  }

 private:
  void CompareModes() {
    std::printf("\n  %-7s %5s %-8s %-7s %9s %9s %9s %9s %12s %9s %6s\n", "", "nodes", "Redis", "",
                "k/s", "Redis µs", "p50 µs", "p99 µs", "Redis calls", "deficit", "over");
    Redis one(Redis::Kind::kOne);
    for (const std::size_t nodes : {1U, 2U, 4U}) CompareOn(one, "one", nodes);
    Redis cluster(Redis::Kind::kCluster);
    CompareOn(cluster, "cluster", 4);
  }

  void CompareOn(Redis& redis, const std::string& store, std::size_t nodes) {
    const Fleet fleet(nodes, redis.Url(), Rules(), cores_);
    for (const Traffic& traffic : kTraffics) {
      std::array<std::vector<Line>, kModes.size()> rounds;
      for (int round = 0; round < rounds_; ++round) {
        for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
          rounds[mode].push_back(Measure(redis, fleet, traffic, kModes[mode]));
        }
      }
      for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
        Line line = MedianOf(rounds[mode]);
        line.traffic = traffic.name;
        line.mode = kModes[mode];
        line.store = store;
        line.nodes = nodes;
        Print(line);
        lines_.push_back(line);
      }
      Compare(rounds, lines_.back());
    }
  }

  // The ratios of all rounds, leased by exact.
  void Compare(const std::array<std::vector<Line>, kModes.size()>& rounds, const Line& line) {
    std::vector<double> rate;
    std::vector<double> cpu;
    for (std::size_t i = 0; i < rounds[0].size(); ++i) {
      rate.push_back(rounds[1][i].per_second / rounds[0][i].per_second);
      cpu.push_back(rounds[1][i].redis_cpu / rounds[0][i].redis_cpu);
    }
    std::sort(rate.begin(), rate.end());
    Ratio ratio{line.traffic,          line.store, line.nodes, Median(rate),
                rate[rate.size() / 4], Median(cpu)};
    std::printf(
        "  %-7s %5zu %-8s leased by exact: rate %.2fx (lower quartile %.2fx), CPU of Redis "
        "%.2fx\n",
        line.traffic.c_str(), line.nodes, line.store.c_str(), ratio.rate, ratio.lower_quartile,
        ratio.redis_cpu);
    ratios_.push_back(std::move(ratio));
  }

  Generator Load(const Fleet& fleet, const Traffic& traffic, const std::string& mode) const {
    const std::string command = CheckOfFreshKeys(std::string(traffic.name) + "-" + mode);
    constexpr std::size_t kOrder = 1'000'000;
    return {fleet.Ports(), kConnections,
            traffic.zipf ? Requests(command, ZipfOrder(traffic.keys, kOrder, 1))
                         : Requests(command, traffic.keys),
            &ReadCheck};
  }

  Line Measure(Redis& redis, const Fleet& fleet, const Traffic& traffic, const std::string& mode) {
    Line line;
    Generator most = Load(fleet, traffic, mode);
    most.Closed(kDepth, closed_);  // So that few keys are new when it is measured.
    const double cpu_before = redis.CpuSeconds();
    const Tally fast = most.Closed(kDepth, closed_);
    line.redis_cpu = (redis.CpuSeconds() - cpu_before) * 1e6 / Answers(fast);
    line.per_second = Answers(fast) / Seconds(fast.took);

    Generator generator = Load(fleet, traffic, mode);
    Ledger ledger(BucketOf(traffic.limit), traffic.keys);
    generator.Tell(&ledger);
    generator.Closed(kDepth, closed_);  // Until buckets are no longer full.
    ledger.CountFromHere();
    Histogram latencies;
    const std::uint64_t before = redis.Calls();
    const Tally tally = generator.Open(kDepth, kPerSecond, open_, latencies);
    line.redis_share = static_cast<double>(redis.Calls() - before) / Answers(tally);
    line.p50 = MicrosOf(latencies.Quantile(0.5));
    line.p99 = MicrosOf(latencies.Quantile(0.99));
    line.deficit = ledger.deficit();
    line.over = ledger.over();
    return line;
  }

  static Line MedianOf(const std::vector<Line>& rounds) {
    Line middle;
    for (double Line::* const figure : {&Line::per_second, &Line::redis_cpu, &Line::p50, &Line::p99,
                                        &Line::redis_share, &Line::deficit}) {
      std::vector<double> values;
      for (const Line& round : rounds) values.push_back(round.*figure);
      middle.*figure = Median(values);
    }
    for (const Line& round : rounds) middle.over += round.over;
    return middle;
  }

  static void Print(const Line& line) {
    std::printf("  %-7s %5zu %-8s %-7s %9.1f %9.2f %9.0f %9.0f %11.2f%% %8.3f%% %6lld\n",
                line.traffic.c_str(), line.nodes, line.store.c_str(), line.mode.c_str(),
                line.per_second / 1e3, line.redis_cpu, line.p50, line.p99, 100 * line.redis_share,
                100 * line.deficit, static_cast<long long>(line.over));
  }

  // Four keys that are never denied, beside a server whose limits are in its memory.
  void CompareWithMemory() {
    const Places places = PlacesFor(1);
    Redis redis(Redis::Kind::kOne);
    const Fleet leased(1, redis.Url(), Rules(), places.server);
    const Fleet memory(1, "memory", Rules(), places.server);
    const auto side = [&](const Fleet& fleet) -> Side {
      return {
          .server = fleet.first(),
          .generator = Generator(fleet.Ports(), kConnections,
                                 Requests(CheckOfFreshKeys("roomy-leased"), kFewKeys), &ReadCheck),
          .load_cores = places.load};
    };
    Pair pair{side(leased), side(memory)};
    report_.BeginSpeeds("hot keys from leases; limits in memory", "leased", "memory");
    beside_memory_ = CompareSpeed(pair, kDepth, Expect::kAllowed, {rounds_, closed_});
    report_.Add("SLUICE.CHECK, 4 keys", kDepth, *beside_memory_, {.rate = 0.7});
    report_.PrintSum();
  }

  void WriteJson() const {
    std::string out;
    JsonWriter json(out, JsonWriter::Style::kIndented);
    json.BeginObject().Key("modes").BeginArray();
    for (const Line& line : lines_) {
      json.BeginObject();
      json.Key("traffic").String(line.traffic);
      json.Key("nodes").Uint(line.nodes);
      json.Key("redis").String(line.store);
      json.Key("mode").String(line.mode);
      json.Key("per_second").Double(line.per_second);
      json.Key("redis_cpu_micros").Double(line.redis_cpu);
      json.Key("p50_micros").Double(line.p50);
      json.Key("p99_micros").Double(line.p99);
      json.Key("redis_calls_per_check").Double(line.redis_share);
      json.Key("deficit").Double(line.deficit);
      json.Key("over").Int(line.over);
      json.EndObject();
    }
    json.EndArray().Key("ratios").BeginArray();
    for (const Ratio& ratio : ratios_) {
      json.BeginObject();
      json.Key("traffic").String(ratio.traffic);
      json.Key("nodes").Uint(ratio.nodes);
      json.Key("redis").String(ratio.store);
      json.Key("rate").Double(ratio.rate);
      json.Key("rate_lower_quartile").Double(ratio.lower_quartile);
      json.Key("redis_cpu").Double(ratio.redis_cpu);
      json.EndObject();
    }
    json.EndArray().Key("hot_keys").BeginObject();
    json.Key("leased_per_second").Double(beside_memory_->ours.per_second);
    json.Key("memory_per_second").Double(beside_memory_->theirs->per_second);
    json.Key("leased_cpu_micros").Double(beside_memory_->ours.cpu_micros);
    json.Key("memory_cpu_micros").Double(beside_memory_->theirs->cpu_micros);
    json.EndObject().Key("neighbours").BeginArray();
    for (const Neighbour& line : neighbours_) {
      json.BeginObject();
      json.Key("mode").String(line.mode);
      json.Key("hot_per_second").Double(line.hot_per_second);
      json.Key("p50_micros").Double(line.p50);
      json.Key("p99_micros").Double(line.p99);
      json.Key("redis_calls_per_second").Double(line.redis_per_second);
      json.EndObject();
    }
    json.EndArray().EndObject();
    if (!(std::ofstream(json_) << out << '\n' << std::flush)) {
      throw std::runtime_error("can't write " + json_);
    }
  }

  const Cores cores_ = AllCores();
  const int rounds_;
  const nanoseconds closed_;
  const nanoseconds open_;
  const std::string json_;
  Report report_;
  std::vector<Line> lines_;
  std::vector<Ratio> ratios_;
  std::optional<Compared<Speed>> beside_memory_;
  std::vector<Neighbour> neighbours_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench(
      "bench_lease", argc, argv,
      [](const sluice::bench::Options& options) { sluice::bench::Bench(options).Run(); });
}
