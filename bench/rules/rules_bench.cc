// Matches per second of a rule set, beside asking each rule in its turn; looking at lists of
// 100 000 entries; loading. Both ways run interleaved in one process, and medians are printed.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "match/explain.h"
#include "match/rule_set.h"
#include "plain_loop.h"
#include "rules/reader.h"
#include "run_bench.h"
#include "workload.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kRequests = 4096;
constexpr std::size_t kListEntries = 100'000;

// Of this thread on a processor: what others do on the machine meanwhile does not count.
double Seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

rules::RuleFile Load(const std::string& text) {
  rules::ReadResult result = rules::Read("bench.yaml", text);
  if (result.file) return *std::move(result.file);
  for (const auto& error : result.errors) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
  }
  std::abort();
}

using Find = std::function<void(match::Attributes)>;

// Calls `find` with one request after the other for about so long; returns calls per second.
double Rate(const Requests& requests, double seconds, const Find& find) {
  std::size_t calls = 0;
  std::size_t next = 0;
  const double began = Seconds();
  double took = 0;
  constexpr std::size_t kBetween = 32;  // A clock read among so many calls does not show.
  while (took < seconds) {
    for (std::size_t i = 0; i < kBetween; ++i) {
      find(requests[next]);
      next = next + 1 == requests.size() ? 0 : next + 1;
    }
    calls += kBetween;
    took = Seconds() - began;
  }
  return static_cast<double>(calls) / took;
}

struct Speed {
  std::string what;
  double ours;
  double plain;
};

class Run {
 public:
  explicit Run(bool quick) : rounds_(quick ? 3 : 7), seconds_(quick ? 0.05 : 0.2) {}

  void Matches(std::size_t count) {
    const auto set = match::RuleSet::Compile(Load(RuleFileText(count)));
    PlainLoop loop(set->file());
    std::mt19937_64 random(1);
    std::vector<Requests::Values> calls;
    for (std::size_t i = 0; i < kRequests; ++i) {
      const std::size_t team = random() % (count / 3);
      calls.push_back(TeamCall(team, random()));
    }
    const Requests requests(calls);
    match::Match match;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      set->Find(requests[i], 1, WallTime{}, match);
      const std::size_t plain = loop.Find(requests[i], 1);
      if (match.limits().size() != 3 || plain != 3) {
        std::fprintf(stderr, "expected 3 limits, found %zu and %zu\n", match.limits().size(),
                     plain);
        std::abort();
      }
    }
    Measure(
        std::to_string(count) + " rules", requests,
        [&](match::Attributes request) { set->Find(request, 1, WallTime{}, match); },
        [&](match::Attributes request) { loop.Find(request, 1); });
  }

  // Two threads with the same rule set, beside one: what they share, such as locks in RE2, shows.
  void Threads(std::size_t count) {
    const auto set = match::RuleSet::Compile(Load(RuleFileText(count)));
    std::mt19937_64 random(1);
    std::vector<Requests::Values> calls;
    for (std::size_t i = 0; i < kRequests; ++i) {
      calls.push_back(TeamCall(random() % (count / 3), random()));
    }
    const Requests requests(calls);
    const auto rate = [&] {
      match::Match match;
      return Rate(requests, seconds_,
                  [&](match::Attributes request) { set->Find(request, 1, WallTime{}, match); });
    };
    std::vector<double> ratios;
    for (int round = 0; round < rounds_; ++round) {
      const double one = rate();
      double other = 0;
      std::thread second([&] { other = rate(); });
      const double first = rate();
      second.join();
      ratios.push_back((first + other) / one);
    }
    two_threads_by_one_ = Median(ratios);
    std::printf("  %zu rules, two threads: %.2f times as many matches as one\n", count,
                two_threads_by_one_);
  }

  void Lists() {
    const auto set = match::RuleSet::Compile(Load(ListFileText(kListEntries)));
    const auto bare = match::RuleSet::Compile(Load(ListFileText(0)));
    std::mt19937_64 random(1);
    for (const bool listed : {false, true}) {
      std::vector<Requests::Values> calls;
      for (std::size_t i = 0; i < kRequests; ++i) {
        const std::size_t entry = random() % kListEntries + (listed ? 0 : kListEntries);
        calls.push_back(PlainCall(ListedKey(entry), ListedIp(entry)));
      }
      const Requests requests(calls);
      match::Match match;
      for (std::size_t i = 0; i < requests.size(); ++i) {
        set->Find(requests[i], 1, WallTime{}, match);
        if ((match.listed() == match::Listed::kDenied) != listed) std::abort();
      }
      Measure(
          listed ? "on a list of 100000" : "not on a list of 100000", requests,
          [&](match::Attributes request) { set->Find(request, 1, WallTime{}, match); },
          [&](match::Attributes request) { bare->Find(request, 1, WallTime{}, match); });
    }
  }

  void Loading(std::size_t count) {
    const std::string text = RuleFileText(count);
    std::vector<double> read;
    std::vector<double> compile;
    for (int round = 0; round < 3; ++round) {
      const double began = Seconds();
      rules::RuleFile file = Load(text);
      const double loaded = Seconds();
      const auto set = match::RuleSet::Compile(std::move(file));
      read.push_back(loaded - began);
      compile.push_back(Seconds() - loaded);
    }
    read_seconds_ = Median(read);
    compile_seconds_ = Median(compile);
    std::printf("\nloading %zu rules: %.0f ms to read and check, %.0f ms to compile\n", count,
                read_seconds_ * 1e3, compile_seconds_ * 1e3);
  }

  static void Title(const char* plain) {
    std::printf("\n  %-26s %14s %10s %16s %8s\n", "", "matches/s", "ns", plain, "ratio");
  }

  void Growth() const {
    std::printf("  from 10 to 10000 rules a match takes %.1f times as long\n",
                speed_.front().ours / speed_[2].ours);
  }

  void WriteJson(const std::string& path) const {
    std::ofstream out(path);
    out << "{\n  \"matches\": [";
    const char* separator = "\n";
    for (const Speed& s : speed_) {
      out << separator << "    {\"what\": \"" << s.what
          << "\", \"per_second\": " << std::llround(s.ours)
          << ", \"compared_per_second\": " << std::llround(s.plain) << "}";
      separator = ",\n";
    }
    out << "\n  ],\n  \"two_threads_by_one\": " << two_threads_by_one_
        << ",\n  \"read_10000_rules_seconds\": " << read_seconds_
        << ",\n  \"compile_10000_rules_seconds\": " << compile_seconds_ << "\n}\n";
  }

 private:
  void Measure(std::string what, const Requests& requests, const Find& ours, const Find& plain) {
    std::vector<double> our_rates;
    std::vector<double> plain_rates;
    for (int round = 0; round < rounds_; ++round) {
      our_rates.push_back(Rate(requests, seconds_, ours));
      plain_rates.push_back(Rate(requests, seconds_, plain));
    }
    const Speed s{std::move(what), Median(our_rates), Median(plain_rates)};
    std::printf("  %-26s %14.0f %10.0f %16.0f %7.1fx\n", s.what.c_str(), s.ours, 1e9 / s.ours,
                s.plain, s.ours / s.plain);
    speed_.push_back(s);
  }

  const int rounds_;
  const double seconds_;
  std::vector<Speed> speed_;
  double two_threads_by_one_ = 0;
  double read_seconds_ = 0;
  double compile_seconds_ = 0;
};

void Main(const Options& options) {
  std::printf("one thread, by its processor time; calls of seven attributes that meet 3 rules\n");
  Run run(options.quick);
  Run::Title("each in turn/s");
  for (const std::size_t count : {10, 1'000, 10'000}) run.Matches(count);
  run.Growth();
  run.Threads(1'000);
  Run::Title("without list/s");
  run.Lists();
  run.Loading(10'000);
  if (!options.json.empty()) run.WriteJson(options.json);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_rules", argc, argv, sluice::bench::Main);
}
