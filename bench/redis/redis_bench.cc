// Checks per second, latency and bytes per key of limits in Redis, beside the usual way: one call
// of a script for each check. Both run interleaved against one redis-server, and medians are
// printed.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <random>
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
#include "usual_way.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kKeys = 10'000;
constexpr std::int64_t kCapacity = 1'000'000;
constexpr std::int64_t kPerHour = 100;  // So slow that no key expires while it is measured.
constexpr Micros kPatience = std::chrono::seconds(30);
constexpr std::size_t kTagBytes = 12;  // As redis-benchmark writes its random numbers.

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "bench_redis: %s\n", message.c_str());
  std::exit(1);
}

// The value below which this part of all values lies.
double Quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const auto index = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  return values[std::min(index, values.size() - 1)];
}

double MicrosBetween(SteadyTime from, SteadyTime to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

void WriteTag(std::uint64_t number, char* to) {
  for (std::size_t i = kTagBytes; i-- > 0; number /= 10) {
    to[i] = static_cast<char>('0' + number % 10);
  }
}

// A connection and a store on it.
class Side {
 public:
  explicit Side(const redis::Options& options)
      : client_(loop_, options), store_(loop_, client_, {.deadline = kPatience}) {}

  store::RedisStore& store() { return store_; }

  void RunUntil(const std::function<bool()>& done) {
    if (!loop_.RunUntil(done, SteadyClock::Now() + kPatience)) {
      Fail("no answer: " + client_.last_error());
    }
  }

  // Sends one command and waits for its reply: a text, or a number as text; else empty.
  std::string Ask(std::initializer_list<std::string_view> arguments) {
    command_.clear();
    resp::AppendCommand(command_, arguments);
    bool done = false;
    std::string text;
    client_.Send(command_, SteadyClock::Now() + kPatience, [&](const redis::Answer& answer) {
      if (!answer) Fail(answer.error().message);
      if (answer.reply().is_error()) Fail(std::string(answer.reply().text()));
      const auto number = answer.reply().ToInteger();
      text = number ? std::to_string(*number) : std::string(answer.reply().text());
      done = true;
    });
    RunUntil([&] { return done; });
    return text;
  }

 private:
  net::Loop loop_;
  redis::Client client_;
  store::RedisStore store_;
  std::string command_;
};

// So many checks wait at any time; each that is answered makes room for the next.
class ClosedLoop {
 public:
  // `draw` says which key is next.
  ClosedLoop(Side& side, std::size_t depth, std::size_t checks, std::function<std::uint64_t()> draw)
      : side_(side), draw_(std::move(draw)), to_start_(checks), to_finish_(checks), slots_(depth) {
    for (Slot& slot : slots_) {
      slot.owner = this;
      slot.use.limit = &TheLimit();
      slot.use.key = {.scope = "api:per_user", .tag = {slot.tag.data(), slot.tag.size()}};
      slot.call.uses = {&slot.use, 1};
      slot.call.context = &slot;
      slot.call.on_done = [](store::StoreCall& /*call*/, void* context) {
        Slot& done = *static_cast<Slot*>(context);
        done.owner->Finish(done);
      };
    }
  }

  // Returns how many seconds it took.
  double Run() {
    const SteadyTime began = SteadyClock::Now();
    for (Slot& slot : slots_) Start(slot);
    side_.RunUntil([this] { return to_finish_ == 0; });
    return MicrosBetween(began, SteadyClock::Now()) / 1e6;
  }

 private:
  struct Slot {
    ClosedLoop* owner = nullptr;
    std::array<char, kTagBytes> tag{};
    store::KeyUse use{};
    store::StoreCall call{};
  };

  static const Limit& TheLimit() {
    static const Limit limit =
        *Limit::TokenBucket({.capacity = kCapacity, .refill = Rate::PerHour(kPerHour)});
    return limit;
  }

  void Start(Slot& slot) {
    if (to_start_ == 0) return;
    --to_start_;
    WriteTag(draw_(), slot.tag.data());
    side_.store().Submit(slot.call);
  }

  void Finish(Slot& slot) {
    if (!slot.call.ok) Fail(std::string("a check failed: ") + ErrorName(slot.call.error));
    if (!slot.call.allowed) Fail("a check was denied: not a measurement");
    --to_finish_;
    Start(slot);
  }

  Side& side_;
  std::function<std::uint64_t()> draw_;
  std::size_t to_start_;
  std::size_t to_finish_;
  std::deque<Slot> slots_;
};

std::function<std::uint64_t()> Uniform() {
  return [random = std::mt19937_64(1)]() mutable { return random() % kKeys; };
}

std::function<std::uint64_t()> Ascending() {
  return [next = std::uint64_t{0}]() mutable { return next++; };
}

struct Speed {
  std::size_t depth;
  double ours;
  double theirs;
};

struct Latency {
  double p50 = 0;
  double p99 = 0;
};

class Bench {
 public:
  explicit Bench(bool quick) : rounds_(quick ? 3 : 5), quick_(quick) {}

  void MeasureSpeed() {
    std::printf("\n  %7s %14s %14s %7s\n", "waiting", "sluice k/s", "usual k/s", "ratio");
    for (const std::size_t depth : {1U, 16U, 64U, 256U, 1024U}) {
      const std::size_t checks = (depth == 1 ? 10'000U : 40'000U) * (quick_ ? 1U : 2U);
      std::vector<double> ours;
      std::vector<double> theirs;
      for (int round = 0; round < rounds_; ++round) {
        ours.push_back(static_cast<double>(checks) /
                       ClosedLoop(side_, depth, checks, Uniform()).Run());
        theirs.push_back(UsualChecksPerSecond({.port = server_.port(),
                                               .sha = usual_sha_,
                                               .capacity = kCapacity,
                                               .per_hour = kPerHour,
                                               .keys = kKeys,
                                               .depth = depth,
                                               .checks = checks}));
      }
      const Speed s{depth, Median(ours), Median(theirs)};
      speed_.push_back(s);
      std::printf("  %7zu %14.1f %14.1f %6.2fx\n", depth, s.ours / 1e3, s.theirs / 1e3,
                  s.ours / s.theirs);
    }
  }

  void MeasureLatency() {
    const int turns = quick_ ? 2'000 : 10'000;
    const auto check = [this] { ClosedLoop(side_, 1, 1, draw_).Run(); };
    const auto ping = [this] { side_.Ask({"PING"}); };
    std::array<std::vector<double>, 4> figures;
    for (int round = 0; round < rounds_; ++round) {
      const Latency ours = LatencyOf(turns, check);
      const Latency bare = LatencyOf(turns, ping);
      figures[0].push_back(ours.p50);
      figures[1].push_back(ours.p99);
      figures[2].push_back(bare.p50);
      figures[3].push_back(bare.p99);
    }
    check_ = {Median(figures[0]), Median(figures[1])};
    ping_ = {Median(figures[2]), Median(figures[3])};
    std::printf("\n  %-22s %8s %8s\n", "one at a time, µs", "p50", "p99");
    std::printf("  %-22s %8.1f %8.1f\n", "check", check_.p50, check_.p99);
    std::printf("  %-22s %8.1f %8.1f\n", "PING, same client", ping_.p50, ping_.p99);
  }

  void MeasureMemory() {
    bytes_ours_ = BytesPerKey([this] { ClosedLoop(side_, 64, kKeys, Ascending()).Run(); });
    bytes_theirs_ = BytesPerKey([this] {
      const std::string rate = UsualRate(kPerHour);
      const std::string capacity = std::to_string(kCapacity);
      std::string key = "bucket:" + std::string(kTagBytes, '0');
      for (std::size_t i = 0; i < kKeys; ++i) {
        WriteTag(i, key.data() + key.size() - kTagBytes);
        side_.Ask({"EVALSHA", usual_sha_, "1", key, capacity, rate, "1"});
      }
    });
    std::printf("\n  bytes a key in Redis: sluice %.0f, usual hash with a TTL %.0f\n", bytes_ours_,
                bytes_theirs_);
  }

  void WriteJson(const std::string& path) const {
    std::ofstream out(path);
    out << "{\n  \"speed\": [";
    const char* separator = "\n";
    for (const Speed& s : speed_) {
      out << separator << "    {\"waiting\": " << s.depth
          << ", \"sluice_per_second\": " << std::llround(s.ours)
          << ", \"usual_per_second\": " << std::llround(s.theirs)
          << ", \"ratio\": " << s.ours / s.theirs << "}";
      separator = ",\n";
    }
    out << "\n  ],\n  \"latency_micros\": {\"check_p50\": " << check_.p50
        << ", \"check_p99\": " << check_.p99 << ", \"ping_p50\": " << ping_.p50
        << ", \"ping_p99\": " << ping_.p99
        << "},\n  \"bytes_per_key\": {\"sluice\": " << bytes_ours_
        << ", \"usual\": " << bytes_theirs_ << "}\n}\n";
  }

 private:
  static Latency LatencyOf(int turns, const std::function<void()>& action) {
    std::vector<double> micros;
    for (int i = 0; i < turns; ++i) {
      const SteadyTime began = SteadyClock::Now();
      action();
      micros.push_back(MicrosBetween(began, SteadyClock::Now()));
    }
    return {Quantile(micros, 0.5), Quantile(micros, 0.99)};
  }

  // What the keys that `fill` makes occupy, their places in Redis' tables included.
  double BytesPerKey(const std::function<void()>& fill) {
    side_.Ask({"FLUSHALL", "SYNC"});
    const double before = UsedMemory();
    fill();
    const double after = UsedMemory();
    if (side_.Ask({"DBSIZE"}) != std::to_string(kKeys)) Fail("not every key is there");
    return (after - before) / static_cast<double>(kKeys);
  }

  double UsedMemory() {
    const std::string info = side_.Ask({"INFO", "memory"});
    constexpr std::string_view kField = "used_memory:";
    const std::size_t at = info.find(kField);
    if (at == std::string::npos) Fail("INFO memory says nothing of used_memory");
    return std::strtod(info.c_str() + at + kField.size(), nullptr);
  }

  const int rounds_;
  const bool quick_;
  redis::testing::RedisServer server_;
  Side side_{server_.ClientOptions()};
  const std::string usual_sha_ = side_.Ask({"SCRIPT", "LOAD", kUsualScript});
  const std::function<std::uint64_t()> draw_ = Uniform();
  std::vector<Speed> speed_;
  Latency check_;
  Latency ping_;
  double bytes_ours_ = 0;
  double bytes_theirs_ = 0;
};

void Main(const Options& options) {
  std::printf(
      "token bucket, %zu keys, one redis-server on the loopback, one connection; usual: "
      "redis-benchmark, one EVALSHA a check on a hash\n",
      kKeys);
  Bench bench(options.quick);
  bench.MeasureSpeed();
  bench.MeasureLatency();
  bench.MeasureMemory();
  if (!options.json.empty()) bench.WriteJson(options.json);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_redis", argc, argv, sluice::bench::Main);
}
