// What live entries cost a call that matches none of them, and what one change costs: by the
// processor time of one thread.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "match/entry_set.h"
#include "run_bench.h"

namespace sluice::bench {
namespace {

using match::Entry;
using rules::PatternKind;

constexpr std::size_t kExact = 100'000;
constexpr std::size_t kNetworks = 10'000;
constexpr std::size_t kGlobs = 256;
constexpr std::size_t kCalls = 4096;
constexpr WallTime kNow{std::chrono::seconds(1'900'000'000)};

double Seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Entry EntryOf(std::string id, std::string attribute, PatternKind kind, std::string value) {
  Entry entry;
  entry.id = std::move(id);
  entry.match.push_back(
      {.attribute = std::move(attribute), .kind = kind, .value = std::move(value)});
  return entry;
}

std::string KeyOf(std::size_t i) { return "sk_live_" + std::to_string(1'000'000'007 * (i + 1)); }

// Networks of all lengths from /9 to /32, in 10.0.0.0/8.
std::string NetworkOf(std::size_t i, std::mt19937_64& random) {
  const auto prefix = static_cast<int>(9 + i % 24);
  const std::uint32_t mask = prefix == 32 ? ~0U : ~(~0U >> prefix);
  const std::uint32_t bits = (0x0A000000U | static_cast<std::uint32_t>(random() & 0xFFFFFF)) & mask;
  return std::to_string(bits >> 24) + "." + std::to_string(bits >> 16 & 255) + "." +
         std::to_string(bits >> 8 & 255) + "." + std::to_string(bits & 255) + "/" +
         std::to_string(prefix);
}

void AddExact(match::EntryTable& table) {
  for (std::size_t i = 0; i < kExact; ++i) {
    table.Put(EntryOf("e" + std::to_string(i), "api_key", PatternKind::kExact, KeyOf(i)));
  }
}

void AddOthers(match::EntryTable& table) {
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kNetworks; ++i) {
    table.Put(EntryOf("n" + std::to_string(i), "ip", PatternKind::kCidr, NetworkOf(i, random)));
  }
  for (std::size_t i = 0; i < kGlobs; ++i) {
    table.Put(EntryOf("g" + std::to_string(i), "api_key", PatternKind::kGlob,
                      "tenant" + std::to_string(i) + "_*"));
  }
}

/// A call of four attributes, as most have.
struct Call {
  explicit Call(std::size_t i)
      : key(KeyOf(kExact + i)),
        ip("192.168." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256)),
        attributes{{"api_key", key}, {"ip", ip}, {"endpoint", "/v1/orders"}, {"method", "GET"}} {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const std::string key, ip;
  const std::vector<Attribute> attributes;
};

class Run {
 public:
  explicit Run(bool quick) : rounds_(quick ? 3 : 9), seconds_(quick ? 0.05 : 0.2) {
    for (std::size_t i = 0; i < kCalls; ++i) calls_.push_back(std::make_unique<Call>(i));
  }

  void Measure(const std::string& what, match::EntryTable& table, double bound) {
    const auto set = table.Snapshot();
    match::EntryMatches matches;
    std::vector<double> nanos;
    for (int round = 0; round < rounds_; ++round) {
      std::size_t calls = 0;
      const double began = Seconds();
      double took = 0;
      while (took < seconds_) {
        for (const auto& call : calls_) {
          set->Find(call->attributes, kNow, matches);
          if (!matches.empty()) std::abort();
        }
        calls += calls_.size();
        took = Seconds() - began;
      }
      nanos.push_back(took * 1e9 / static_cast<double>(calls));
    }
    const double median = Median(nanos);
    std::printf("  %-44s %8.0f ns   (at most %.0f)\n", what.c_str(), median, bound);
    figures_.emplace_back(what + ", ns", median);
  }

  // One change with its check and its snapshot: among few changes since the last base, and with a
  // new base.
  void Changes(match::EntryTable& table) {
    (void)table.Snapshot();
    std::vector<double> micros;
    for (int i = 0; i < 2000; ++i) {
      const std::vector<Entry> change{EntryOf("change" + std::to_string(i), "api_key",
                                              PatternKind::kExact, "changed" + std::to_string(i))};
      const double began = Seconds();
      if (!table.RefusalOf(change).empty()) std::abort();
      table.Put(change.front());
      (void)table.Snapshot();
      micros.push_back((Seconds() - began) * 1e6);
    }
    double worst = 0;
    for (const double one : micros) worst = std::max(worst, one);
    std::printf("  %-44s %8.0f µs   (with another base: %.0f ms)\n", "one change among 110256",
                Median(micros), worst / 1e3);
    figures_.emplace_back("one change, µs", Median(micros));
    figures_.emplace_back("another base, ms", worst / 1e3);
  }

  void WriteJson(const std::string& path) const {
    std::ofstream out(path);
    out << "{";
    const char* separator = "\n";
    for (const auto& [what, figure] : figures_) {
      out << separator << "  \"" << what << "\": " << figure;
      separator = ",\n";
    }
    out << "\n}\n";
  }

 private:
  const int rounds_;
  const double seconds_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::pair<std::string, double>> figures_;
};

void Main(const Options& options) {
  std::printf("one thread, by its processor time; calls of four attributes that match no entry\n");
  Run run(options.quick);
  match::EntryTable table;
  run.Measure("no entries", table, 5);
  AddExact(table);
  run.Measure("100000 exact", table, 100);
  AddOthers(table);
  run.Measure("100000 exact, 10000 networks, 256 globs", table, 300);
  run.Changes(table);
  if (!options.json.empty()) run.WriteJson(options.json);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_entries", argc, argv, sluice::bench::Main);
}
