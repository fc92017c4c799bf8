// Checks per second and bytes per key of the library, beside what a careful programmer would write
// instead, and beside limiters of other languages, which run in processes of their own. All take
// turns on the same keys; medians are printed, and the medians of the ratios of all rounds.

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
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <sluice/sluice.h>

#include "careful.h"
#include "peer.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kKeyBytes = 16;
constexpr std::size_t kBatch = 16;
constexpr std::int64_t kCapacity = 100'000'000;  // So large that no key is denied.
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

// The median of the ratios of all rounds: ours divided by theirs.
double RatioOf(const std::vector<Pace>& ours, const std::vector<Pace>& theirs,
               double Pace::* figure) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ratios.push_back(ours[i].*figure / theirs[i].*figure);
  }
  return Median(std::move(ratios));
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
  [[nodiscard]] std::string_view text() const { return {text_.data(), text_.size()}; }

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

using Loop = std::function<std::size_t(const Traffic&)>;

// Runs `work` on each thread's traffic at once.
Pace PaceOf(const std::vector<Traffic>& traffic, const Loop& work) {
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
  if (allowed != checks) throw std::runtime_error("a check was denied: not a measurement");
  const auto all = static_cast<double>(checks);
  return {.per_second = all / took, .cpu_nanos = cpu_seconds * 1e9 / all};
}

Pace PaceOf(Peer& peer, std::size_t checks) {
  double seconds = 0;
  double cpu_seconds = 0;
  std::size_t allowed = 0;
  const std::string answer = peer.Ask("run");
  if (std::sscanf(answer.c_str(), "%lf %lf %zu", &seconds, &cpu_seconds, &allowed) != 3 ||
      allowed != checks) {
    throw std::runtime_error(peer.name() + ": not a measurement: " + answer);
  }
  const auto all = static_cast<double>(checks);
  return {.per_second = all / seconds, .cpu_nanos = cpu_seconds * 1e9 / all};
}

const NamedLimit& TheLimit() {
  static const NamedLimit limit{
      "api", *Limit::TokenBucket({.capacity = kCapacity, .refill = Rate::PerHour(kPerHour)})};
  return limit;
}

// One way of asking: in this process, or of a peer.
struct Contender {
  std::string name;
  std::string mode;
  Loop loop{};
  Peer* peer = nullptr;
  std::vector<Pace> rounds{};

  [[nodiscard]] bool ours() const { return name == "sluice"; }
};

std::vector<Contender> InProcess(Limiter& limiter, const PreparedLimit& prepared,
                                 Careful& careful) {
  std::vector<Contender> all;
  all.push_back({"sluice", "prepared", [&](const Traffic& traffic) {
                   std::size_t allowed = 0;
                   for (std::size_t i = 0; i < traffic.size(); ++i) {
                     allowed += limiter.Check(prepared, traffic[i]).allowed() ? 1 : 0;
                   }
                   return allowed;
                 }});
  all.push_back({"sluice", "single", [&](const Traffic& traffic) {
                   std::size_t allowed = 0;
                   for (std::size_t i = 0; i < traffic.size(); ++i) {
                     allowed += limiter.Check(TheLimit(), traffic[i])->allowed ? 1 : 0;
                   }
                   return allowed;
                 }});
  all.push_back({"sluice", "prepared batch", [&](const Traffic& traffic) {
                   std::size_t allowed = 0;
                   std::array<std::string_view, kBatch> keys;
                   std::array<CheckResult, kBatch> results;
                   for (std::size_t i = 0; i + kBatch <= traffic.size(); i += kBatch) {
                     for (std::size_t j = 0; j < kBatch; ++j) keys[j] = traffic[i + j];
                     allowed += *limiter.CheckBatch(prepared, keys, results);
                   }
                   return allowed;
                 }});
  all.push_back({"sluice", "batched", [&](const Traffic& traffic) {
                   std::size_t allowed = 0;
                   std::array<LimitUse, kBatch> uses;
                   std::array<Decision, kBatch> decisions;
                   for (LimitUse& use : uses) use.limit = &TheLimit();
                   for (std::size_t i = 0; i + kBatch <= traffic.size(); i += kBatch) {
                     for (std::size_t j = 0; j < kBatch; ++j) uses[j].key = traffic[i + j];
                     allowed += *limiter.CheckBatch(uses, decisions);
                   }
                   return allowed;
                 }});
  all.push_back({"careful", "single", [&](const Traffic& traffic) {
                   std::size_t allowed = 0;
                   for (std::size_t i = 0; i < traffic.size(); ++i) {
                     allowed += careful.Check(traffic[i], NowMicros()) ? 1 : 0;
                   }
                   return allowed;
                 }});
  all.push_back({"careful", "batched", [&](const Traffic& traffic) {
                   std::size_t allowed = 0;
                   std::array<std::string_view, kBatch> keys;
                   for (std::size_t i = 0; i + kBatch <= traffic.size(); i += kBatch) {
                     for (std::size_t j = 0; j < kBatch; ++j) keys[j] = traffic[i + j];
                     allowed += careful.CheckBatch(keys, NowMicros());
                   }
                   return allowed;
                 }});
  return all;
}

// The limiters of other languages, and what builds their programs.
struct PeerProgram {
  const char* name;
  const char* program;
  const char* contender;
  const char* builder;
};
constexpr std::array<PeerProgram, 4> kPeers = {{
    {"governor, strings", "rust/release/engine-peers", "governor-string", "cargo"},
    {"governor, [u8; 16]", "rust/release/engine-peers", "governor-fixed", "cargo"},
    {"throttlecrab", "rust/release/engine-peers", "throttlecrab", "cargo"},
    {"x/time/rate", "go/engine-peers", "", "go"},
}};

// What a line should reach: of our `mode` beside a peer, or in checks a second of each thread.
struct Target {
  std::size_t keys;
  const char* mode;
  const char* peer;  // Null: `at_least` is a rate.
  double at_least;
};
constexpr std::array<Target, 4> kTargets = {{
    {1'000, "prepared", "governor, strings", 1.0},
    {1'000'000, "prepared", "governor, strings", 2.5},
    {1'000'000, "prepared", "governor, [u8; 16]", 1.0},
    {1'000'000, "prepared batch", nullptr, 20e6},
}};
constexpr std::size_t kFewKeys = 1'000;
constexpr double kMostBytesOfFewKeys = 100;

struct Memory {
  std::size_t keys;
  double ours;
  double ours_worst;  // While the table grew, from a tenth of the keys on.
  double theirs;
};

// Uses every key once, in order. Returns the memory that a key took, at the end and at the worst
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
  Run(bool quick, std::string peers)
      : rounds_(quick ? 3 : 7),
        checks_(quick ? 1'000'000 : 4'000'000),
        peers_(std::move(peers)),
        traffic_file_((std::filesystem::temp_directory_path() /
                       ("engine-" + std::to_string(getpid()) + ".keys"))
                          .string()) {}
  ~Run() { std::filesystem::remove(traffic_file_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void WithKeys(std::size_t keys) {
    Limiter limiter =
        Limiter::InMemory({.max_keys = std::max<std::size_t>(keys * 5 / 4, 1000)}).value();
    const PreparedLimit prepared = limiter.Prepare(TheLimit());
    {
      // What the first check of a process brings into memory is not a key's.
      Limiter first = Limiter::InMemory().value();
      (void)first.Check(TheLimit(), "first");
    }
    Careful careful(kCapacity, static_cast<double>(kPerHour) / 3.6e9);
    const auto ours = Fill(keys, [&](std::string_view key) {
      if (!limiter.Check(TheLimit(), key)->allowed) std::abort();
    });
    const auto theirs = Fill(keys, [&](std::string_view key) { careful.Check(key, NowMicros()); });
    memory_.push_back({keys, ours.first, ours.second, theirs.first});
    std::printf("\n%zu keys: %.1f bytes a key (worst moment of growth %.1f), careful %.1f\n", keys,
                ours.first, ours.second, theirs.first);
    if (keys == kFewKeys) {
      Judge("bytes a key", "≤ 100", ours.first, ours.first <= kMostBytesOfFewKeys, keys, "", 1);
    }
    std::vector<std::unique_ptr<Peer>> peers = StartPeers(keys);
    for (const char* distribution : {"uniform", "zipf"}) {
      for (const int threads : {1, 2}) {
        std::vector<Contender> contenders = InProcess(limiter, prepared, careful);
        for (const auto& peer : peers) {
          contenders.push_back({.name = peer->name(), .mode = "single", .peer = peer.get()});
        }
        Measure(contenders, keys, distribution, threads);
      }
    }
  }

  void WriteJson(const std::string& path) const {
    std::ofstream out(path);
    out << "{\n  \"speed\": [" << speed_ << "\n  ],\n  \"bytes_per_key\": [";
    const char* separator = "\n";
    for (const Memory& m : memory_) {
      out << separator << "    {\"keys\": " << m.keys << ", \"sluice\": " << m.ours
          << ", \"sluice_worst_while_growing\": " << m.ours_worst << ", \"careful\": " << m.theirs
          << "}";
      separator = ",\n";
    }
    out << "\n  ],\n  \"targets\": [" << judgements_ << "\n  ]\n}\n";
    std::printf("\nwritten to %s\n", path.c_str());
  }

  void PrintTargets() const {
    if (!target_lines_.empty()) std::printf("\ntargets\n%s", target_lines_.c_str());
  }

 private:
  std::vector<std::unique_ptr<Peer>> StartPeers(std::size_t keys) {
    std::vector<std::unique_ptr<Peer>> started;
    for (const PeerProgram& peer : kPeers) {
      const std::string program = peers_ + "/" + peer.program;
      if (peers_.empty() || access(program.c_str(), X_OK) != 0) {
        std::printf("  %s: skipped, its program is built with %s by ./dev bench engine\n",
                    peer.name, peer.builder);
        continue;
      }
      started.push_back(std::make_unique<Peer>(peer.name, program, peer.contender));
      const std::string bytes = started.back()->Ask("fill " + std::to_string(keys));
      std::printf("  %s: %.1f bytes a key\n", peer.name, std::strtod(bytes.c_str(), nullptr));
    }
    return started;
  }

  void Measure(std::vector<Contender>& contenders, std::size_t keys, const char* distribution,
               int threads) {
    std::vector<Traffic> traffic;
    const std::size_t share = checks_ / static_cast<std::size_t>(threads) / kBatch * kBatch;
    {
      std::ofstream file(traffic_file_, std::ios::binary | std::ios::trunc);
      for (int i = 0; i < threads; ++i) {
        const auto seed = static_cast<std::uint64_t>(i) + 1;
        const bool zipf = std::strcmp(distribution, "zipf") == 0;
        traffic.emplace_back(share, zipf ? Zipf(keys, seed) : Uniform(keys, seed));
        file << traffic.back().text();
      }
    }
    for (const Contender& contender : contenders) {
      if (contender.peer == nullptr) continue;
      contender.peer->Ask("load " + std::to_string(threads) + " " + traffic_file_);
    }
    const std::size_t checks = share * static_cast<std::size_t>(threads);
    for (int round = 0; round < rounds_; ++round) {
      for (Contender& contender : contenders) {
        contender.rounds.push_back(contender.peer != nullptr ? PaceOf(*contender.peer, checks)
                                                             : PaceOf(traffic, contender.loop));
      }
    }
    Report(contenders, keys, distribution, threads);
  }

  void Report(const std::vector<Contender>& contenders, std::size_t keys, const char* distribution,
              int threads) {
    std::printf("\n  %s, %d thread%s\n    %-20s %-15s %8s %8s   %s\n", distribution, threads,
                threads == 1 ? "" : "s", "", "", "M/s", "ns CPU", "prepared beside it: rate, CPU");
    for (const Contender& contender : contenders) {
      const Pace pace = MedianOf(contender.rounds);
      const double rate = RatioOf(contenders[0].rounds, contender.rounds, &Pace::per_second);
      const double cpu = RatioOf(contenders[0].rounds, contender.rounds, &Pace::cpu_nanos);
      std::printf("    %-20s %-15s %8.2f %8.1f   %.2fx %.2fx\n", contender.name.c_str(),
                  contender.mode.c_str(), pace.per_second / 1e6, pace.cpu_nanos, rate, cpu);
      speed_ += std::string(speed_.empty() ? "\n" : ",\n") +
                "    {\"keys\": " + std::to_string(keys) + ", \"distribution\": \"" + distribution +
                "\", \"threads\": " + std::to_string(threads) + ", \"contender\": \"" +
                contender.name + "\", \"mode\": \"" + contender.mode +
                "\", \"per_second\": " + std::to_string(std::llround(pace.per_second)) +
                ", \"cpu_nanos\": " + std::to_string(pace.cpu_nanos) +
                ", \"prepared_by_this_rate\": " + std::to_string(rate) +
                ", \"prepared_by_this_cpu\": " + std::to_string(cpu) + "}";
    }
    for (const Target& target : kTargets) {
      if (target.keys == keys) Judge(target, contenders, distribution, threads);
    }
  }

  void Judge(const Target& target, const std::vector<Contender>& contenders,
             const char* distribution, int threads) {
    const Contender* ours = nullptr;
    const Contender* theirs = nullptr;
    for (const Contender& contender : contenders) {
      if (contender.ours() && contender.mode == target.mode) ours = &contender;
      if (target.peer != nullptr && contender.name == target.peer) theirs = &contender;
    }
    std::array<char, 32> asked{};
    if (target.peer == nullptr) {
      const double reached = MedianOf(ours->rounds).per_second / threads;
      std::snprintf(asked.data(), asked.size(), "≥ %g M/s a thread", target.at_least / 1e6);
      Judge(target.mode, asked.data(), reached / 1e6, reached >= target.at_least, target.keys,
            distribution, threads);
    } else if (theirs != nullptr) {
      const double reached = RatioOf(ours->rounds, theirs->rounds, &Pace::per_second);
      std::snprintf(asked.data(), asked.size(), "≥ %gx", target.at_least);
      Judge(std::string(target.mode) + " beside " + target.peer, asked.data(), reached,
            reached >= target.at_least, target.keys, distribution, threads);
    }
  }

  void Judge(const std::string& what, const char* asked, double reached, bool met, std::size_t keys,
             const char* distribution, int threads) {
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), "  %-7s %-36s %8zu keys %-8s %d thread%s  %s: %.2f\n",
                  met ? "met" : "missed", what.c_str(), keys, distribution, threads,
                  threads == 1 ? " " : "s", asked, reached);
    target_lines_ += line.data();
    judgements_ += std::string(judgements_.empty() ? "\n" : ",\n") + "    {\"what\": \"" + what +
                   "\", \"keys\": " + std::to_string(keys) + ", \"distribution\": \"" +
                   distribution + "\", \"threads\": " + std::to_string(threads) +
                   ", \"target\": \"" + asked + "\", \"reached\": " + std::to_string(reached) +
                   ", \"met\": " + (met ? "true" : "false") + "}";
  }

  const int rounds_;
  const std::size_t checks_;
  const std::string peers_;
  const std::string traffic_file_;
  std::string speed_;  // JSON
  std::string judgements_;
  std::string target_lines_;
  std::vector<Memory> memory_;
};

int Main(int argc, char** argv) {
  bool quick = false;
  std::string json;
  std::string peers;
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--json" && i + 1 < argc) {
      json = argv[++i];
    } else if (argument == "--peers" && i + 1 < argc) {
      peers = argv[++i];
    } else if (const std::size_t keys = std::strtoull(argv[i], nullptr, 10); keys > 0) {
      sizes.push_back(keys);
    } else {
      std::fprintf(stderr,
                   "usage: bench_engine [--quick] [--json FILE] [--peers DIRECTORY] [KEYS…]\n");
      return 2;
    }
  }
  if (sizes.empty()) sizes = {1'000, 1'000'000};
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  signal(SIGPIPE, SIG_IGN);
  std::printf(
      "token bucket, keys of %zu bytes, batches of %zu; careful: flat_hash_map<string, "
      "Bucket> behind a mutex\n",
      kKeyBytes, kBatch);
  try {
    Run run(quick, peers);
    for (const std::size_t keys : sizes) run.WithKeys(keys);
    run.PrintTargets();
    if (!json.empty()) run.WriteJson(json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_engine: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::Main(argc, argv); }
