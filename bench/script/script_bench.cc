// How long one script call holds up Redis, for the shapes of calls that take it longest: lists of
// many checks, and sliding window logs and concurrency limits with many entries. Measured in CPU
// time of Redis' main thread (INFO cpu), which other programs on the machine can't lengthen, and as
// Redis sees it itself (SLOWLOG).

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/loop.h"
#include "redis/client.h"
#include "redis/testing/redis_server.h"
#include "resp/encoder.h"
#include "run_bench.h"
#include "store/redis/redis_store.h"

namespace sluice::bench {
namespace {

using std::chrono::hours;
using store::Operation;

constexpr Micros kTimeout = std::chrono::seconds(120);
constexpr WallTime kBegin{hours(24) * 20'000};
constexpr Micros kWindow = hours(1);

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "bench_script: %s\n", message.c_str());
  std::exit(1);
}

// One call with all that it points to.
struct Asked {
  std::vector<std::string> tags;
  std::vector<store::KeyUse> uses;
  store::StoreCall call;
};

// All in µs of one script call.
struct Figures {
  std::string shape;
  std::size_t script_calls = 0;  ///< In one round.
  double cpu_median = 0;         ///< Of a round's average.
  double cpu_highest = 0;
  double wall_median = 0;  ///< As in SLOWLOG.
};

class Bench {
 public:
  explicit Bench(bool quick)
      : entries_(quick ? 10'000 : 100'000),
        rounds_(quick ? 20 : 100),
        log_(*Limit::SlidingWindowLog({.limit = 3 * entries_, .window = kWindow})),
        slots_(*Limit::Concurrency({.limit = 3 * entries_, .time_to_live = kWindow})),
        small_log_(*Limit::SlidingWindowLog({.limit = 1000, .window = kWindow})),
        bucket_(*Limit::TokenBucket({.capacity = 1000, .refill = Rate::PerHour(1)})) {
    Do({"CONFIG", "SET", "slowlog-log-slower-than", "0"});
    Do({"CONFIG", "SET", "slowlog-max-len", "100000"});
  }

  void Run() {
    std::vector<double> reading;
    for (int i = 0; i < 100; ++i) {
      const double before = CpuMicros();
      reading.push_back(CpuMicros() - before);
    }
    cpu_of_reading_ = Median(reading);
    std::printf(
        "one redis-server on the loopback, logs and slots with %lld entries; µs of Redis for one "
        "script call\n\n",
        static_cast<long long>(entries_));
    std::printf("  %-58s %6s %8s %8s %8s\n", "submitted at once", "calls", "CPU", "highest",
                "slow log");
    MeasureLists();
    MeasureLongLogs();
    MeasureManySlots();
  }

  void WriteJson(const std::string& path) const {
    std::ofstream out(path);
    out << "{\n  \"script_calls\": [";
    const char* separator = "\n";
    for (const Figures& f : figures_) {
      out << separator << "    {\"shape\": \"" << f.shape << "\", \"calls\": " << f.script_calls
          << ", \"cpu_micros\": " << f.cpu_median << ", \"highest_cpu_micros\": " << f.cpu_highest
          << ", \"slow_log_micros\": " << f.wall_median << "}";
      separator = ",\n";
    }
    out << "\n  ]\n}\n";
  }

 private:
  store::KeyUse UseOf(const Limit& limit, std::int64_t cost = 1) {
    store::KeyUse use;
    use.limit = &limit;
    use.cost = cost;
    return use;
  }

  // A call about one use, or about several keys under the same limit.
  Asked& Add(Operation operation, const store::KeyUse& use, std::vector<std::string> tags) {
    Asked& asked = asked_.emplace_back();
    asked.tags = std::move(tags);
    for (const std::string& tag : asked.tags) {
      asked.uses.push_back(use);
      asked.uses.back().key = {.scope = "bench", .tag = tag, .rest = {}};
    }
    asked.call.operation = operation;
    asked.call.uses = asked.uses;
    asked.call.now = now_;
    return asked;
  }

  // Submits what was added, all at once, and waits for the answers.
  void Submit() {
    for (Asked& asked : asked_) store_.Submit(asked.call);
    const auto is_done = [](const Asked& asked) { return !asked.call.pending; };
    const auto done = [&] {
      while (answered_ < asked_.size() && is_done(asked_[answered_])) ++answered_;
      return answered_ == asked_.size();
    };
    if (!loop_.RunUntil(done, SteadyClock::Now() + kTimeout)) Fail("no answer");
    for (const Asked& asked : asked_) {
      if (!asked.call.ok) Fail(std::string("a call failed: ") + ErrorName(asked.call.error));
    }
    asked_.clear();
    answered_ = 0;
  }

  void Do(std::initializer_list<std::string_view> arguments,
          const std::function<void(resp::Value)>& read = nullptr) {
    std::string command;
    resp::AppendCommand(command, arguments);
    bool done = false;
    client_.Send(command, SteadyClock::Now() + kTimeout, [&](const redis::Answer& answer) {
      if (!answer || answer.reply().is_error()) Fail("a command failed");
      if (read) read(answer.reply());
      done = true;
    });
    if (!loop_.RunUntil([&] { return done; }, SteadyClock::Now() + kTimeout)) Fail("no answer");
  }

  // What Redis' main thread has used so far.
  double CpuMicros() {
    double seconds = 0;
    Do({"INFO", "cpu"}, [&](resp::Value reply) {
      const std::string_view info = reply.text();
      for (const std::string_view field :
           {"used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"}) {
        const std::size_t at = info.find(field);
        if (at == std::string_view::npos) Fail("INFO cpu says nothing of the main thread");
        seconds += std::strtod(std::string(info.substr(at + field.size(), 32)).c_str(), nullptr);
      }
    });
    return seconds * 1e6;
  }

  // Adds how long each script call took since the log was emptied.
  void ReadSlowLog(std::vector<double>& micros) {
    Do({"SLOWLOG", "GET", "-1"}, [&](resp::Value reply) {
      for (const resp::Value entry : reply) {
        auto field = entry.begin();
        ++ ++field;  // After the id and the time.
        const std::int64_t took = (*field).ToInteger().value_or(0);
        ++field;
        const std::string_view command = (*(*field).begin()).text();
        if (command == "EVALSHA" || command == "EVAL") micros.push_back(static_cast<double>(took));
      }
    });
  }

  // `add` adds the calls of one round.
  void Measure(const std::string& shape, const std::function<void(int round)>& add) {
    std::vector<double> cpu;
    std::vector<double> wall;
    std::size_t script_calls = 0;
    for (int round = 0; round < rounds_; ++round) {
      now_ += Micros{1000};
      add(round);
      Do({"SLOWLOG", "RESET"});
      const std::uint64_t sent = store_.StatsApprox().script_calls;
      const double before = CpuMicros();
      Submit();
      const double used = CpuMicros() - before - cpu_of_reading_;
      script_calls = store_.StatsApprox().script_calls - sent;
      cpu.push_back(std::max(used, 0.0) / static_cast<double>(script_calls));
      ReadSlowLog(wall);
    }
    const Figures f{shape, script_calls, Median(cpu), *std::max_element(cpu.begin(), cpu.end()),
                    Median(wall)};
    figures_.push_back(f);
    std::printf("  %-58s %6zu %8.0f %8.0f %8.0f\n", shape.c_str(), f.script_calls, f.cpu_median,
                f.cpu_highest, f.wall_median);
    std::fflush(stdout);
  }

  void MeasureLists() {
    const auto each = [this](std::size_t count, Operation operation, const store::KeyUse& use,
                             const std::string& prefix) {
      for (std::size_t i = 0; i < count; ++i) Add(operation, use, {prefix + std::to_string(i)});
    };
    const auto several = [this](std::size_t count, const store::KeyUse& use,
                                const std::string& prefix) {
      std::vector<std::string> tags;
      for (std::size_t i = 0; i < count; ++i) tags.push_back(prefix + std::to_string(i));
      Add(Operation::kCheck, use, tags);
    };
    Measure("1000 checks of buckets",
            [&](int /*round*/) { each(1000, Operation::kCheck, UseOf(bucket_), "b"); });
    each(1000, Operation::kGrant, UseOf(bucket_, 1'000'000), "g");
    Submit();
    Measure("1000 checks of buckets with grants",
            [&](int /*round*/) { each(1000, Operation::kCheck, UseOf(bucket_), "g"); });
    Measure("one check of 128 buckets with grants",
            [&](int /*round*/) { several(128, UseOf(bucket_), "g"); });
    Measure("1000 checks of logs",
            [&](int /*round*/) { each(1000, Operation::kCheck, UseOf(small_log_), "l"); });
    Measure("one check of 128 logs", [&](int /*round*/) { several(128, UseOf(small_log_), "l"); });
    Measure("1000 acquires",
            [&](int /*round*/) { each(1000, Operation::kCheck, UseOf(slots_), "s"); });
  }

  // `count` logs or sets of slots with many entries of different costs.
  void Fill(const Limit& limit, const std::string& prefix, int count, std::int64_t entries) {
    for (std::int64_t i = 0; i < entries; ++i) {
      now_ += Micros{200};
      for (int j = 0; j < count; ++j) {
        store::KeyUse use = UseOf(limit, 1 + i % 5);
        use.slot = static_cast<std::uint64_t>(i + 1);
        Add(Operation::kCheck, use, {prefix + std::to_string(j)});
      }
      if (i % 500 == 499) Submit();
    }
    Submit();
  }

  void MeasureLongLogs() {
    constexpr int kLogs = 20;
    const WallTime first = now_ + Micros{200};
    Fill(log_, "long", 1, entries_);
    Fill(log_, "many", kLogs, entries_ / kLogs);
    const auto one = [this](Operation operation, std::int64_t cost) {
      Add(operation, UseOf(log_, cost), {"long0"});
    };
    const auto all = [this](Operation operation, std::int64_t cost) {
      for (int j = 0; j < kLogs; ++j)
        Add(operation, UseOf(log_, cost), {"many" + std::to_string(j)});
    };
    Measure("a check of a long log", [&](int /*round*/) { one(Operation::kCheck, 1); });
    Measure("a denied check of a long log, of half its cost",
            [&](int /*round*/) { one(Operation::kCheck, 3 * entries_ / 2); });
    Measure("the same of 20 logs",
            [&](int /*round*/) { all(Operation::kCheck, log_.cap() - 100); });
    Measure("20 settlements in the middle of a long log", [&](int round) {
      for (int j = 0; j < kLogs; ++j) {
        store::KeyUse use = UseOf(log_, 2);
        const std::int64_t entry = (round * kLogs + j) * 7 % entries_;
        use.receipt = {.amount = 1, .from_grant = 0, .at = first + Micros{200} * entry};
        Add(Operation::kAdjust, use, {"long0"});
      }
    });
    const WallTime before = now_;
    now_ = now_ + kWindow - Micros{100} * entries_;
    Measure("20 peeks after most entries of 20 logs are over",
            [&](int /*round*/) { all(Operation::kPeek, log_.cap()); });
    Measure("20 checks after most entries of 20 logs are over",
            [&](int /*round*/) { all(Operation::kCheck, 1); });
    Measure("a reset of a long log", [&](int /*round*/) { one(Operation::kReset, 1); });
    now_ = before + 2 * kWindow;
  }

  void MeasureManySlots() {
    constexpr std::size_t kAtOnce = 64;
    Fill(slots_, "slots", 1, entries_);
    const auto each = [this](Operation operation, std::uint64_t slot, std::int64_t cost) {
      for (std::size_t j = 0; j < kAtOnce; ++j) {
        store::KeyUse use = UseOf(slots_, cost);
        use.slot = slot + j;
        Add(operation, use, {"slots0"});
      }
    };
    constexpr std::uint64_t kUnknown = 1'000'000'000;
    Measure("64 releases of slots that are not held",
            [&](int /*round*/) { each(Operation::kRelease, kUnknown, 1); });
    Measure("64 renewals of slots that are not held",
            [&](int /*round*/) { each(Operation::kRenew, kUnknown, 1); });
    Measure("64 acquires with slots of the caller's own", [&](int round) {
      each(Operation::kCheck, kUnknown + kAtOnce * static_cast<std::uint64_t>(round), 1);
    });
    Measure("64 releases of slots that are held", [&](int round) {
      each(Operation::kRelease, kUnknown + kAtOnce * static_cast<std::uint64_t>(round), 1);
    });
    Measure("64 denied acquires of half of all slots",
            [&](int /*round*/) { each(Operation::kCheck, kUnknown, 3 * entries_ / 2); });
  }

  const std::int64_t entries_;
  const int rounds_;
  const Limit log_, slots_, small_log_, bucket_;
  redis::testing::RedisServer server_;
  net::Loop loop_;
  redis::Client client_{loop_, server_.ClientOptions()};
  store::RedisStore store_{loop_, client_, {.deadline = kTimeout, .use_time_of_calls = true}};
  WallTime now_ = kBegin;
  std::deque<Asked> asked_;
  std::size_t answered_ = 0;
  double cpu_of_reading_ = 0;  ///< What CpuMicros takes itself.
  std::vector<Figures> figures_;
};

void Main(const Options& options) {
  Bench bench(options.quick);
  bench.Run();
  if (!options.json.empty()) bench.WriteJson(options.json);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_script", argc, argv, sluice::bench::Main);
}
