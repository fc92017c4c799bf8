// What the directory of names costs on a call's way, and how long administrators wait for a page of
// keys when the memory store holds ten million.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.h"
#include "run_bench.h"
#include "server/key_source.h"
#include "store/key_directory.h"
#include "store/memory/memory_store.h"

namespace sluice {
namespace {

constexpr std::size_t kNamesBytes = std::size_t{32} << 20;
constexpr std::size_t kLoops = 2;

// Of this thread: others on the machine don't count.
double Nanos() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double NanosPerRecord(std::size_t keys, std::size_t records) {
  store::KeyDirectory directory(kNamesBytes / kLoops);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < keys; ++i) names.push_back("user:" + std::to_string(i * 7919));
  const WallTime now = TheSystemClock().Now();
  for (const std::string& name : names) {
    directory.Record({.scope = "api:default", .tag = name}, now, false);
  }
  const double begin = Nanos();
  for (std::size_t i = 0; i < records; ++i) {
    directory.Record({.scope = "api:default", .tag = names[i % keys]}, now, false);
  }
  return (Nanos() - begin) / static_cast<double>(records);
}

void MeasurePages(std::size_t keys) {
  auto store = store::MemoryStore::Create({.max_keys = keys + keys / 4});
  if (!store) throw std::runtime_error(store.error().message);
  store::KeyDirectories names(kNamesBytes, kLoops);
  const Limit limit = *Limit::FixedWindow({.limit = 1000, .window = std::chrono::hours(24)});
  const WallTime now = TheSystemClock().Now();
  for (std::size_t i = 0; i < keys; ++i) {
    const std::string tag = "user:" + std::to_string(i);
    store::KeyUse use;
    use.key = {.scope = "api:default", .tag = tag};
    use.limit = &limit;
    store::StoreCall call{.operation = store::Operation::kCheck, .uses = {&use, 1}, .now = now};
    (*store)->Submit(call);
    names.of_loop(i % kLoops).Record(use.key, now, false);
  }
  server::MemoryKeySource source(**store, &names);
  std::vector<double> pages;
  std::size_t found = 0;
  std::string cursor;
  do {
    const auto begin = std::chrono::steady_clock::now();
    const auto portion = source.Next({}, cursor);
    pages.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
    found += portion->keys.size();
    cursor = portion->cursor;
  } while (!cursor.empty());
  std::sort(pages.begin(), pages.end());
  std::printf(
      "%zu keys in the store, %zu with a name, pages of 1000: median %.2f ms, longest %.2f ms\n",
      (*store)->StatsApprox().keys, found, pages[pages.size() / 2], pages.back());
}

void Run(const bench::Options& options) {
  const std::size_t scale = options.quick ? 10 : 1;
  std::printf("record a known key, 100 keys: %.0f ns\n", NanosPerRecord(100, 2'000'000 / scale));
  std::printf("record a known key, 100000 keys: %.0f ns\n",
              NanosPerRecord(100'000, 2'000'000 / scale));
  std::printf("record a new key, directory full: %.0f ns\n",
              NanosPerRecord(2'000'000 / scale, 2'000'000 / scale));
  MeasurePages(10'000'000 / scale);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_keys", argc, argv, sluice::Run);
}
