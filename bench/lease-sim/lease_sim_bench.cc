// What leases cost the store, and what they cost the callers, in virtual time: nodes with real
// lease tables around one store, with messages that are late, lost or overtaken. docs/leases.md
// explains the columns.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lease/testing/simulation.h"

namespace sluice::lease::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Arguments {
  std::string json;
  std::string only;  ///< Scenarios with this in their name.
  std::uint64_t seed = 1;
};

struct Scenario {
  std::string name;
  Setting setting;
};

using LimitOf = std::function<Limit(std::int64_t rate)>;

Limit Bucket(std::int64_t rate) {
  return *Limit::TokenBucket({.capacity = rate, .refill = Rate::PerSecond(rate)});
}
Limit Fixed(std::int64_t rate) {
  return *Limit::FixedWindow({.limit = rate, .window = seconds(1)});
}
Limit Sliding(std::int64_t rate) {
  return *Limit::SlidingWindowCounter({.limit = rate, .window = seconds(1)});
}

/// Every key may use `share` of its load, and at least 100 a second.
std::vector<Limit> Limits(const std::vector<double>& load, double share, const LimitOf& limit_of) {
  std::map<std::int64_t, Limit> made;
  std::vector<Limit> limits;
  for (const double calls : load) {
    const double steps = std::ceil(std::log2(std::max(calls * share, 100.0)) * 16) / 16;
    const auto rate = static_cast<std::int64_t>(std::exp2(steps));
    limits.push_back(made.try_emplace(rate, limit_of(rate)).first->second);
  }
  return limits;
}

Setting Zipf(double calls_per_second, double share, Micros counted) {
  Setting setting;
  setting.load = ZipfLoad(100'000, calls_per_second);
  setting.limits = Limits(setting.load, share, Bucket);
  setting.warm_up = seconds(10);
  setting.duration = setting.warm_up + counted;
  return setting;
}

/// A few keys that each get `load` calls a second.
Setting Hot(double load, double share, const LimitOf& limit_of) {
  Setting setting;
  setting.load.assign(4, load);
  const auto rate = static_cast<std::int64_t>(load * share);
  setting.limits.assign(4, limit_of(rate));
  setting.warm_up = seconds(20);
  setting.duration = seconds(50);
  return setting;
}

Setting With(Setting setting, const std::function<void(Setting&)>& change) {
  change(setting);
  return setting;
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all;
  for (const auto& [name, share] :
       {std::pair{"below the limit", 2.0}, {"at the limit", 1.0}, {"far over", 0.1}}) {
    all.push_back({std::string("zipf 200k/s, ") + name, Zipf(200'000, share, seconds(10))});
  }
  for (const auto& [name, share] :
       {std::pair{"below the limit", 2.0}, {"at the limit", 1.0}, {"far over", 0.1}}) {
    all.push_back({std::string("zipf 1M/s, ") + name, Zipf(1'000'000, share, seconds(2))});
  }
  for (const auto& [kind, limit_of] : {std::pair<const char*, LimitOf>{"bucket", Bucket},
                                       {"fixed window", Fixed},
                                       {"sliding counter", Sliding}}) {
    const std::string hot = std::string("hot ") + kind + ", ";
    all.push_back({hot + "0.5x", Hot(2'000, 2, limit_of)});
    all.push_back({hot + "0.9x", Hot(2'000, 1 / 0.9, limit_of)});
    all.push_back({hot + "1x", Hot(2'000, 1, limit_of)});
    all.push_back({hot + "1.1x", Hot(2'000, 1 / 1.1, limit_of)});
    all.push_back({hot + "10x", Hot(20'000, 0.1, limit_of)});
  }
  all.push_back({"hot bucket, 1.1x, from full",
                 With(Hot(2'000, 1 / 1.1, Bucket), [](Setting& s) { s.warm_up = Micros{0}; })});
  all.push_back({"hot bucket, 10x, slow", Hot(1'000, 0.1, Bucket)});
  all.push_back({"jumping every 50 ms, 1.1x", With(Hot(2'000, 1 / 1.1, Bucket), [](Setting& s) {
                   s.jump_after = milliseconds(50);
                 })});
  all.push_back({"limit = nodes", With(Hot(2'000, 1, Bucket), [](Setting& s) {
                   s.limits.assign(s.limits.size(), Bucket(static_cast<std::int64_t>(s.nodes)));
                 })});
  all.push_back({"bursts of the cap", With(Hot(1'000, 1, Bucket), [](Setting& s) {
                   s.burst_every = milliseconds(1500);
                 })});
  all.push_back({"a crash a second, 1.1x",
                 With(Hot(2'000, 1 / 1.1, Bucket), [](Setting& s) { s.crashes_per_second = 1; })});
  all.push_back({"1 % of messages lost, 1.1x",
                 With(Hot(2'000, 1 / 1.1, Bucket), [](Setting& s) { s.loss = 0.01; })});
  all.push_back({"costs of 1 to 20, 1.1x",
                 With(Hot(200, 21 / 2.2, Bucket), [](Setting& s) { s.largest_cost = 20; })});
  all.push_back({"50 nodes, 1.1x", With(Hot(20'000, 1 / 1.1, Bucket), [](Setting& s) {
                   s.nodes = 50;
                   s.warm_up = seconds(12);
                   s.duration = seconds(17);
                 })});
  all.push_back({"exact, for comparison, 1.1x",
                 With(Hot(2'000, 1 / 1.1, Bucket), [](Setting& s) { s.exact = true; })});
  return all;
}

/// Of all checks, those that need a call whatever one does: a key that a node did not meet for as
/// long as a lease lasts is not leased.
double Floor(const Setting& setting) {
  double calls = 0;
  double first = 0;
  const auto nodes = static_cast<double>(setting.nodes);
  constexpr double kLeaseSeconds = 10;
  for (const double load : setting.load) {
    calls += load;
    first += load / (1 + load / nodes * kLeaseSeconds);
  }
  return first / calls;
}

Arguments Read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--json") arguments.json = argv[i + 1];
    if (name == "--only") arguments.only = argv[i + 1];
    if (name == "--seed") arguments.seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return arguments;
}

int Run(const Arguments& arguments) {
  std::printf("seed %llu (--seed), 4 nodes unless said; shares of all calls\n\n",
              static_cast<unsigned long long>(arguments.seed));
  std::printf("%-30s %9s %11s %8s %11s %9s %9s\n", "", "calls", "store calls", "floor",
              "of hot keys", "deficit", "over");
  std::string json = "[\n";
  std::uint64_t over = 0;
  for (Scenario& scenario : Scenarios()) {
    if (scenario.name.find(arguments.only) == std::string::npos) continue;
    scenario.setting.seed = arguments.seed;
    const Result result = Simulate(scenario.setting);
    std::printf("%-30s %9llu %10.2f%% %7.2f%% %10.2f%% %8.3f%% %9llu\n", scenario.name.c_str(),
                static_cast<unsigned long long>(result.calls), 100 * result.StoreShare(),
                100 * Floor(scenario.setting), 100 * result.HotShare(), 100 * result.DeficitShare(),
                static_cast<unsigned long long>(result.over));
    std::fflush(stdout);
    if (json.size() > 2) json += ",\n";
    json += "  {\"scenario\": \"" + scenario.name +
            "\", \"calls\": " + std::to_string(result.calls) +
            ", \"store_calls\": " + std::to_string(result.StoreShare()) +
            ", \"floor\": " + std::to_string(Floor(scenario.setting)) +
            ", \"hot_store_calls\": " + std::to_string(result.HotShare()) +
            ", \"deficit\": " + std::to_string(result.DeficitShare()) +
            ", \"over\": " + std::to_string(result.over) + "}";
    over += result.over;
  }
  if (!arguments.json.empty()) std::ofstream(arguments.json) << json << "\n]\n";
  return over == 0 ? 0 : 1;
}

}  // namespace
}  // namespace sluice::lease::testing

int main(int argc, char** argv) {
  return sluice::lease::testing::Run(sluice::lease::testing::Read(argc, argv));
}
