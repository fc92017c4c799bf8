#include "neighbours.h"

#include <cstdint>
#include <cstdio>
#include <future>

#include "fleet.h"
#include "traffic.h"

namespace sluice::bench {
namespace {

constexpr std::uint32_t kOthers = 100;
constexpr double kOthersPerSecond = 5'000;  // Half of what they may.
constexpr double kHotPerSecond = 100'000;

Generator Ask(const Fleet& fleet, const std::string& rule, std::uint32_t keys) {
  return {fleet.Ports(), kConnections, Requests(CheckOfFreshKeys(rule), keys), &ReadCheck};
}

Neighbour Measure(Redis& redis, const Fleet& fleet, const std::string& mode, bool with_hot,
                  std::chrono::nanoseconds duration) {
  Generator others = Ask(fleet, "zipf-" + mode, kOthers);
  Generator hot = Ask(fleet, "hot-" + mode, 1);
  others.EachKeyOnce(1);
  std::future<Tally> hot_tally;
  if (with_hot) {
    hot_tally = std::async(std::launch::async, [&] {
      Histogram ignored;
      return hot.Open(kDepth, kHotPerSecond, duration, ignored);
    });
  }
  Histogram latencies;
  const std::uint64_t before = redis.Calls();
  const Tally tally = others.Open(1, kOthersPerSecond, duration, latencies);
  Neighbour line{.mode = mode};
  line.redis_per_second = static_cast<double>(redis.Calls() - before) / Seconds(tally.took);
  if (with_hot) {
    const Tally asked = hot_tally.get();
    line.hot_per_second = Answers(asked) / Seconds(asked.took);
  }
  line.p50 = MicrosOf(latencies.Quantile(0.5));
  line.p99 = MicrosOf(latencies.Quantile(0.99));
  return line;
}

}  // namespace

std::vector<Neighbour> ShowNeighbours(const std::string& rules, std::chrono::nanoseconds duration) {
  std::printf(
      "\nothers: %.0f calls a second of %u keys; the hot key: up to %.0f, of which %lld are "
      "allowed; "
      "one server\n",
      kOthersPerSecond, kOthers, kHotPerSecond, static_cast<long long>(kHotLimit));
  std::printf("  %-7s %9s %9s %9s %13s\n", "", "hot k/s", "p50 µs", "p99 µs", "Redis calls/s");
  Redis redis(Redis::Kind::kOne);
  const Fleet fleet(1, redis.Url(), rules, PlacesFor(1).server);
  std::vector<Neighbour> lines;
  for (const std::string mode : kModes) {
    for (const bool with_hot : {false, true}) {
      const Neighbour line = Measure(redis, fleet, mode, with_hot, duration);
      std::printf("  %-7s %9.1f %9.0f %9.0f %13.0f\n", mode.c_str(), line.hot_per_second / 1e3,
                  line.p50, line.p99, line.redis_per_second);
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace sluice::bench
