// Rows of a trace per second; the time that the impact of a rule change takes on a full sample;
// what sampling costs a call. One thread, medians.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/reader.h"
#include "run_bench.h"
#include "simulate/impact.h"
#include "simulate/simulation.h"
#include "simulate/trace_reader.h"
#include "simulate/traffic_sampler.h"

namespace sluice::bench {
namespace {

using simulate::TrafficSample;
using simulate::TrafficSampler;

constexpr WallTime kStart{std::chrono::seconds(1'800'000'000)};
constexpr std::size_t kSampledCalls = 100'000;

// As in docs/commands.md.
constexpr const char* kTraceRules = R"(
rules:
  - { id: rule_001, tier: pro, match: { api_key_pattern: "sk_prod_*", endpoint_regex: "^/v1/orders.*" },
      capacity: 100, refill_rate: 1.67, override: { "sk_prod_vip_001": { capacity: 1000 } } }
  - { id: rule_002, tier: free, match: { api_key_pattern: "sk_free_*", endpoint_regex: ".*" },
      algorithm: sliding_window_counter, limit: 100, window: 60 }
)";
constexpr const char* kBefore = R"(
tiers: { pro: { capacity: 100 }, free: { capacity: 20 } }
default_tier: free
keys: { "sk_prod_*": pro }
rules:
  - { id: orders, match: { endpoint_regex: "^/v1/orders.*" }, refill_rate: 1 }
  - { id: keys, match: { api_key: "sk_*" }, algorithm: sliding_window_counter, limit: 100/m }
  - { id: everyone, per: [], algorithm: fixed_window, limit: 100000/m }
)";
constexpr const char* kAfter = R"(
tiers: { pro: { capacity: 80 }, free: { capacity: 10 } }
default_tier: free
keys: { "sk_prod_*": pro }
rules:
  - { id: orders, match: { endpoint_regex: "^/v1/orders.*" }, refill_rate: 1 }
  - { id: keys, match: { api_key: "sk_*" }, algorithm: sliding_window_counter, limit: 90/m }
  - { id: everyone, per: [], algorithm: fixed_window, limit: 100000/m }
)";

// Of this thread on a processor: what others do on the machine meanwhile does not count.
double Seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::shared_ptr<const match::RuleSet> Rules(const char* text) {
  rules::ReadResult result = rules::Read("bench.yaml", text);
  if (!result.file) {
    for (const auto& error : result.errors) std::fprintf(stderr, "%s\n", error.message.c_str());
    std::abort();
  }
  return match::RuleSet::Compile(std::move(*result.file));
}

double MedianSeconds(int rounds, const std::function<void()>& run) {
  std::vector<double> took;
  for (int round = 0; round < rounds; ++round) {
    const double began = Seconds();
    run();
    took.push_back(Seconds() - began);
  }
  return Median(took);
}

std::string TraceText(std::size_t rows) {
  std::mt19937_64 random(1);
  std::string text = "time,api_key,tier,endpoint\n";
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string key = std::to_string(random() % 100'000);
    const bool pro = random() % 2 == 0;
    text += std::to_string(1'800'000'000'000 + i);
    text += pro ? ",sk_prod_" : ",sk_free_";
    text += key;
    text += pro ? ",pro,/v1/orders/" : ",free,/v1/orders/";
    text += key;
    text += '\n';
  }
  return text;
}

struct Call {
  std::string key;
  std::string endpoint;
  std::vector<Attribute> attributes;
};

std::vector<Call> Calls(std::size_t count, std::size_t callers) {
  std::mt19937_64 random(2);
  std::vector<Call> calls(count);
  for (Call& call : calls) {
    const std::string number = std::to_string(random() % callers);
    call.key = (random() % 2 == 0 ? "sk_prod_" : "sk_free_") + number;
    call.endpoint = "/v1/orders/" + number;
    call.attributes = {{"api_key", call.key},
                       {"ip", "192.0.2.17"},
                       {"method", "GET"},
                       {"endpoint", call.endpoint}};
  }
  return calls;
}

class Run {
 public:
  explicit Run(bool quick) : rounds_(quick ? 1 : 5), quick_(quick) {}

  void Trace() {
    const std::size_t rows = quick_ ? 100'000 : 2'000'000;
    const std::string text = TraceText(rows);
    const auto rules = Rules(kTraceRules);
    const double seconds = MedianSeconds(quick_ ? 1 : 3, [&] {
      auto simulation = simulate::Simulation::Create(rules);
      simulate::TraceReader reader([&, at = std::size_t{0}](std::span<char> into) mutable {
        const std::size_t size = std::min(into.size(), text.size() - at);
        std::memcpy(into.data(), text.data() + at, size);
        at += size;
        return size;
      });
      while (reader.Next() == simulate::TraceReader::Item::kCall) {
        (*simulation)->Evaluate(reader.row(), reader.row().time);
      }
    });
    Add("CSV rows of a trace, 2 rules, per second", static_cast<double>(rows) / seconds);
  }

  void Impact() {
    TrafficSampler sampler({.max_calls = kSampledCalls + 1000}, 1, kStart);
    simulate::LoopTrafficSampler& loop = *sampler.AddLoop();
    WallTime now = kStart;
    for (const Call& call : Calls(kSampledCalls, 300)) {
      now += Micros(1000);
      loop.Record(call.attributes, 1, now);
    }
    const TrafficSample sample = sampler.Take(now);
    const auto before = Rules(kBefore);
    const auto after = Rules(kAfter);
    for (const std::uint32_t nodes : {1U, 3U, 20U}) {
      std::uint64_t denied = 0;
      const double seconds = MedianSeconds(rounds_, [&] {
        const auto result = simulate::EvaluateImpact(sample, *before, *after, {.nodes = nodes});
        if (!result.impact) std::abort();
        denied = result.impact->newly_denied_calls;
      });
      Add("impact, " + std::to_string(sample.calls()) + " calls, " + std::to_string(nodes) +
              (nodes == 1 ? " node" : " nodes") + ", milliseconds",
          seconds * 1e3);
      if (denied == 0) std::abort();
    }
    Add("copy of a full sample, milliseconds",
        MedianSeconds(rounds_, [&] { static_cast<void>(sampler.Take(now)); }) * 1e3);
  }

  // A share of 1 records every call; a small one almost none.
  void Sampling() {
    const std::vector<Call> calls = Calls(65'536, 1'000'000);
    const auto record = [&](simulate::LoopTrafficSampler& loop, WallTime& now, Micros step) {
      for (const Call& call : calls) {
        now += step;
        loop.Record(call.attributes, 1, now);
      }
    };
    const auto per_call = [&](double seconds) {
      return seconds * 1e9 / static_cast<double>(calls.size());
    };
    {
      TrafficSampler sampler({.max_span = Micros(1000)}, 1, kStart);
      simulate::LoopTrafficSampler& loop = *sampler.AddLoop();
      WallTime now = kStart;
      Add("sampling, caller in the share, nanoseconds a call",
          per_call(MedianSeconds(rounds_, [&] { record(loop, now, Micros(1)); })));
    }
    TrafficSampler sampler({.max_calls = 1000}, 1, kStart);
    simulate::LoopTrafficSampler& loop = *sampler.AddLoop();
    WallTime now = kStart;
    for (int i = 0; i < 30; ++i) record(loop, now, Micros(1));
    Add("sampling, one caller in " + std::to_string(sampler.Take(now).share_divisor()) +
            ", nanoseconds a call",
        per_call(MedianSeconds(rounds_, [&] { record(loop, now, Micros(1)); })));
  }

  void WriteJson(const std::string& path) const {
    std::ofstream out(path);
    out << "{\n  \"figures\": [";
    const char* separator = "\n";
    for (const auto& [what, value] : figures_) {
      out << separator << "    {\"what\": \"" << what << "\", \"value\": " << value << "}";
      separator = ",\n";
    }
    out << "\n  ]\n}\n";
  }

 private:
  void Add(std::string what, double value) {
    std::printf("  %-56s %12.1f\n", what.c_str(), value);
    figures_.emplace_back(std::move(what), value);
  }

  const int rounds_;
  const bool quick_;
  std::vector<std::pair<std::string, double>> figures_;
};

void Main(const Options& options) {
  std::printf("one thread, by its processor time\n");
  Run run(options.quick);
  run.Trace();
  run.Impact();
  run.Sampling();
  if (!options.json.empty()) run.WriteJson(options.json);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_simulate", argc, argv, sluice::bench::Main);
}
