// Checks per second and bytes per key of the library, beside what a careful programmer would write
// instead. Both run interleaved in one process, and medians are printed.

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <malloc.h>

#include <sluice/sluice.h>

#include "careful.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kKeyBytes = 16;
constexpr std::size_t kBatch = 16;
constexpr std::int64_t kCapacity = 1'000'000;
constexpr std::int64_t kPerHour = 100;  // So slow that no key expires while it is measured.

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What this thread has used of a processor.
double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::int64_t NowMicros() {
  return std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What the process has in memory now.
std::size_t ResidentBytes() {
  std::size_t pages = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Pace {
  double per_second;  // In all threads.
  double cpu_nanos;   // For each check.
};

double MedianOf(const std::vector<Pace>& rounds, double Pace::* figure) {
  std::vector<double> values;
  for (const Pace& round : rounds) values.push_back(round.*figure);
  return Median(std::move(values));
}

Pace MedianOf(const std::vector<Pace>& rounds) {
  return {MedianOf(rounds, &Pace::per_second), MedianOf(rounds, &Pace::cpu_nanos)};
}

// Keys in the order of their use. Requests bring their keys along in buffers that were just read,
// so reading them must not cost cache misses here either: their text lies in a row.
class Traffic {
 public:
  Traffic(std::size_t length, const std::function<std::uint64_t()>& draw)
      : text_(length * kKeyBytes) {
    for (std::size_t i = 0; i < length; ++i) WriteKey(draw(), text_.data() + i * kKeyBytes);
  }

  [[nodiscard]] std::size_t size() const { return text_.size() / kKeyBytes; }
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    return {text_.data() + i * kKeyBytes, kKeyBytes};
  }

  static void WriteKey(std::uint64_t number, char* to) {
    constexpr std::string_view kPrefix = "user:";
    std::copy(kPrefix.begin(), kPrefix.end(), to);
    for (std::size_t i = kKeyBytes; i-- > kPrefix.size(); number /= 10) {
      to[i] = static_cast<char>('0' + number % 10);
    }
  }

 private:
  std::vector<char> text_;
};

// Ranks with probabilities ∝ 1/rank, by inverting the continuous distribution: close enough.
std::function<std::uint64_t()> Zipf(std::size_t keys, std::uint64_t seed) {
  return [keys, random = std::mt19937_64(seed)]() mutable {
    const double u = std::uniform_real_distribution<double>(0, 1)(random);
    const auto rank = std::pow(static_cast<double>(keys), u) - 1;
    // Spread, so that the frequent keys are not neighbours.
    return static_cast<std::uint64_t>(rank) * 0x9E3779B1U % keys;
  };
}

std::function<std::uint64_t()> Uniform(std::size_t keys, std::uint64_t seed) {
  return [keys, random = std::mt19937_64(seed)]() mutable { return random() % keys; };
}

struct Contender {
  std::function<std::size_t(const Traffic&)> single;
  std::function<std::size_t(const Traffic&)> batched;
};

// Runs `work` on each thread's traffic at once.
Pace PaceOf(const std::vector<Traffic>& traffic,
            const std::function<std::size_t(const Traffic&)>& work) {
  std::atomic<double> cpu_seconds{0};
  std::barrier start(static_cast<std::ptrdiff_t>(traffic.size()) + 1);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> allowed{0};
  std::size_t checks = 0;
  for (const Traffic& mine : traffic) {
    checks += mine.size();
    threads.emplace_back([&] {
      start.arrive_and_wait();
      const double before = ThreadCpuSeconds();
      allowed += work(mine);
      cpu_seconds += ThreadCpuSeconds() - before;
    });
  }
  start.arrive_and_wait();
  const double began = Seconds();
  for (std::thread& thread : threads) thread.join();
  const double took = Seconds() - began;
  if (allowed == 0) std::abort();  // Nothing passed: not a measurement.
  const auto all = static_cast<double>(checks);
  return {.per_second = all / took, .cpu_nanos = cpu_seconds * 1e9 / all};
}

const NamedLimit& TheLimit() {
  static const NamedLimit limit{
      "api", *Limit::TokenBucket({.capacity = kCapacity, .refill = Rate::PerHour(kPerHour)})};
  return limit;
}

Contender Ours(Limiter& limiter) {
  return {
      .single =
          [&limiter](const Traffic& traffic) {
            std::size_t allowed = 0;
            for (std::size_t i = 0; i < traffic.size(); ++i) {
              allowed += limiter.Check(TheLimit(), traffic[i])->allowed ? 1 : 0;
            }
            return allowed;
          },
      .batched =
          [&limiter](const Traffic& traffic) {
            std::size_t allowed = 0;
            std::array<LimitUse, kBatch> uses;
            std::array<Decision, kBatch> decisions;
            for (LimitUse& use : uses) use.limit = &TheLimit();
            for (std::size_t i = 0; i + kBatch <= traffic.size(); i += kBatch) {
              for (std::size_t j = 0; j < kBatch; ++j) uses[j].key = traffic[i + j];
              allowed += *limiter.CheckBatch(uses, decisions);
            }
            return allowed;
          },
  };
}

Contender Theirs(Careful& careful) {
  return {
      .single =
          [&careful](const Traffic& traffic) {
            std::size_t allowed = 0;
            for (std::size_t i = 0; i < traffic.size(); ++i) {
              allowed += careful.Check(traffic[i], NowMicros()) ? 1 : 0;
            }
            return allowed;
          },
      .batched =
          [&careful](const Traffic& traffic) {
            std::size_t allowed = 0;
            std::array<std::string_view, kBatch> keys;
            for (std::size_t i = 0; i + kBatch <= traffic.size(); i += kBatch) {
              for (std::size_t j = 0; j < kBatch; ++j) keys[j] = traffic[i + j];
              allowed += careful.CheckBatch(keys, NowMicros());
            }
            return allowed;
          },
  };
}

struct Speed {
  std::size_t keys;
  const char* distribution;
  const char* mode;
  int threads;
  Pace ours;
  Pace theirs;
};

struct Memory {
  std::size_t keys;
  double ours;
  double ours_worst;  // While the table grew, from a tenth of the keys on.
  double theirs;
};

// Every key once, in order; tells what that brought into memory, at the end and at the worst
// moment.
template <typename Touch>
std::pair<double, double> Fill(std::size_t keys, const Touch& touch) {
  malloc_trim(0);
  const std::size_t before = ResidentBytes();
  const auto per_key = [&](std::size_t done) {
    const std::size_t resident = ResidentBytes();
    return static_cast<double>(resident - std::min(resident, before)) / static_cast<double>(done);
  };
  std::array<char, kKeyBytes> text;
  double worst = 0;
  for (std::size_t i = 0; i < keys; ++i) {
    Traffic::WriteKey(i, text.data());
    touch(std::string_view(text.data(), text.size()));
    const std::size_t done = i + 1;
    if (done >= keys / 10 && done % (keys / 200 + 1) == 0) worst = std::max(worst, per_key(done));
  }
  const double last = per_key(keys);
  return {last, std::max(worst, last)};
}

class Run {
 public:
  explicit Run(bool quick) : rounds_(quick ? 3 : 5), checks_(quick ? 1'000'000 : 4'000'000) {}

  void WithKeys(std::size_t keys) {
    Limiter limiter =
        Limiter::InMemory({.max_keys = std::max<std::size_t>(keys * 5 / 4, 1000)}).value();
    Careful careful(kCapacity, static_cast<double>(kPerHour) / 3.6e9);
    const auto ours = Fill(keys, [&](std::string_view key) {
      if (!limiter.Check(TheLimit(), key)->allowed) std::abort();
    });
    const auto theirs = Fill(keys, [&](std::string_view key) { careful.Check(key, NowMicros()); });
    memory_.push_back({keys, ours.first, ours.second, theirs.first});
    if (keys >= 100'000) {
      std::printf("\n%zu keys: %.1f bytes a key (worst moment of growth %.1f), careful %.1f\n",
                  keys, ours.first, ours.second, theirs.first);
    } else {
      std::printf("\n%zu keys\n", keys);
    }
    std::printf("  %-8s %-8s %7s %12s %9s %12s %7s\n", "keys are", "asked", "threads", "sluice M/s",
                "ns CPU", "careful M/s", "ratio");
    for (const char* distribution : {"uniform", "zipf"}) {
      for (const int threads : {1, 2}) {
        Measure(limiter, careful, keys, distribution, threads);
      }
    }
  }

  void WriteJson(const std::string& path) const {
    std::ofstream out(path);
    out << "{\n  \"speed\": [";
    const char* separator = "\n";
    for (const Speed& s : speed_) {
      out << separator << "    {\"keys\": " << s.keys << ", \"distribution\": \"" << s.distribution
          << "\", \"mode\": \"" << s.mode << "\", \"threads\": " << s.threads
          << ", \"sluice_per_second\": " << std::llround(s.ours.per_second)
          << ", \"sluice_cpu_nanos\": " << s.ours.cpu_nanos
          << ", \"careful_per_second\": " << std::llround(s.theirs.per_second)
          << ", \"careful_cpu_nanos\": " << s.theirs.cpu_nanos
          << ", \"ratio\": " << s.ours.per_second / s.theirs.per_second << "}";
      separator = ",\n";
    }
    out << "\n  ],\n  \"bytes_per_key\": [";
    separator = "\n";
    for (const Memory& m : memory_) {
      out << separator << "    {\"keys\": " << m.keys << ", \"sluice\": " << m.ours
          << ", \"sluice_worst_while_growing\": " << m.ours_worst << ", \"careful\": " << m.theirs
          << "}";
      separator = ",\n";
    }
    out << "\n  ]\n}\n";
    std::printf("\nwritten to %s\n", path.c_str());
  }

 private:
  void Measure(Limiter& limiter, Careful& careful, std::size_t keys, const char* distribution,
               int threads) {
    std::vector<Traffic> traffic;
    for (int i = 0; i < threads; ++i) {
      const auto seed = static_cast<std::uint64_t>(i) + 1;
      const bool zipf = std::strcmp(distribution, "zipf") == 0;
      traffic.emplace_back(checks_ / static_cast<std::size_t>(threads),
                           zipf ? Zipf(keys, seed) : Uniform(keys, seed));
    }
    const Contender us = Ours(limiter);
    const Contender them = Theirs(careful);
    for (const char* mode : {"single", "batched"}) {
      const bool batched = std::strcmp(mode, "batched") == 0;
      std::vector<Pace> ours;
      std::vector<Pace> theirs;
      for (int round = 0; round < rounds_; ++round) {
        ours.push_back(PaceOf(traffic, batched ? us.batched : us.single));
        theirs.push_back(PaceOf(traffic, batched ? them.batched : them.single));
      }
      const Speed s{keys, distribution, mode, threads, MedianOf(ours), MedianOf(theirs)};
      speed_.push_back(s);
      std::printf("  %-8s %-8s %7d %12.2f %9.1f %12.2f %6.1fx\n", distribution, mode, threads,
                  s.ours.per_second / 1e6, s.ours.cpu_nanos, s.theirs.per_second / 1e6,
                  s.ours.per_second / s.theirs.per_second);
    }
  }

  const int rounds_;
  const std::size_t checks_;
  std::vector<Speed> speed_;
  std::vector<Memory> memory_;
};

int Main(int argc, char** argv) {
  bool quick = false;
  std::string json;
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--json" && i + 1 < argc) {
      json = argv[++i];
    } else if (const std::size_t keys = std::strtoull(argv[i], nullptr, 10); keys > 0) {
      sizes.push_back(keys);
    } else {
      std::fprintf(stderr, "usage: bench_engine [--quick] [--json FILE] [KEYS…]\n");
      return 2;
    }
  }
  if (sizes.empty()) sizes = {1'000, 1'000'000, 10'000'000};
  std::printf(
      "token bucket, keys of %zu bytes, batches of %zu; careful: flat_hash_map<string, "
      "Bucket> behind a mutex\n",
      kKeyBytes, kBatch);
  Run run(quick);
  for (const std::size_t keys : sizes) run.WithKeys(keys);
  if (!json.empty()) run.WriteJson(json);
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::Main(argc, argv); }
