#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "store/key_directory.h"

namespace sluice::store {
namespace {

constexpr std::size_t kBytes = std::size_t{32} << 20;
constexpr WallTime kNow{std::chrono::seconds(1'900'000'000)};

std::vector<std::string> Names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("user:" + std::to_string(i * 7919));
  return names;
}

// A key that is known already. The argument is how many there are.
void BM_RecordKnown(benchmark::State& state) {
  KeyDirectory directory(kBytes);
  const std::vector<std::string> names = Names(static_cast<std::size_t>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) {
    directory.Record({.scope = "api:default", .tag = names[i]}, kNow, false);
    if (++i == names.size()) i = 0;
  }
}
BENCHMARK(BM_RecordKnown)->Arg(100)->Arg(100'000);

// A flood of new keys into a directory that is full.
void BM_RecordNew(benchmark::State& state) {
  KeyDirectory directory(kBytes);
  const std::vector<std::string> names = Names(2'000'000);
  std::size_t i = 0;
  for (auto _ : state) {
    directory.Record({.scope = "api:default", .tag = names[i]}, kNow, false);
    if (++i == names.size()) i = 0;
  }
}
BENCHMARK(BM_RecordNew);

// All names of a full directory.
void BM_ReadAll(benchmark::State& state) {
  KeyDirectories directories(kBytes, 2);
  for (const std::string& name : Names(2'000'000)) {
    directories.of_loop(name.size() % 2).Record({.scope = "api:default", .tag = name}, kNow, false);
  }
  std::size_t keys = 0;
  for (auto _ : state) {
    KeyDirectories::Position position;
    std::vector<SeenKey> seen;
    keys = 0;
    bool more = true;
    while (more) {
      seen.clear();
      more = directories.Read(position, 1000, seen);
      keys += seen.size();
    }
  }
  state.counters["keys"] = static_cast<double>(keys);
}
BENCHMARK(BM_ReadAll)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::store
