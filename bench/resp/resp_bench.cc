// Checks over the Redis protocol, beside redis-server's INCR: one core for the server, one for the
// load; then two event loops beside one. Both run interleaved, and medians are printed.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "load/contest.h"
#include "load/redis_process.h"
#include "load/sluice_server.h"
#include "resp/encoder.h"
#include "run_bench.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kConnections = 50;
constexpr std::uint64_t kManyKeys = 1'000'000;
constexpr std::uint64_t kFewKeys = 1'000;
constexpr std::array<Depth, 3> kBeatRedis{{{1}, {16}, {128, {.rate = 1.5, .cpu = 0.4}}}};
constexpr std::array<Depth, 3> kDepths{{{1}, {16}, {128}}};
constexpr std::array<Depth, 1> kTwoLoops{{{128, {.cpu = 1.15, .per_second = 1.7e6}}}};

std::string Command(std::initializer_list<std::string_view> arguments) {
  std::string command;
  resp::AppendCommand(command, arguments);
  return command;
}

// What is asked, and how the answer is read.
struct Question {
  std::string command;
  ReadReply read;
};

const std::string kKey = "user:" + std::string(Requests::kPlace);
// A million at once, and so slowly refilled that no key is ever as good as new.
const Question kThrottle{Command({"CL.THROTTLE", kKey, "999999", "10000", "3600"}), &ReadThrottle};
const Question kCheck{Command({"SLUICE.CHECK", "api_key", kKey}), &ReadCheck};
const Question kIncrement{Command({"INCR", kKey}), &ReadCount};

Side Ask(const Process& server, const Question& question, std::uint64_t keys,
         std::size_t loops = 1) {
  return {.server = server,
          .generator = Generator(server.port(), kConnections, Requests(question.command, keys),
                                 question.read),
          .load_cores = PlacesFor(loops).load};
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : has_entries_(options.variant == kEntriesFlag), contest_(options, "RESP, 50 connections") {
    entries_.Put();
    if (!options.alone) redis_.reset(new Process(StartRedis(PlacesFor(1).server, folder_)));
  }

  void Run() {
    contest_.report().BeginSpeeds("a check; redis: INCR", "sluice", "redis");
    Pair throttle = MakePair(kThrottle, kManyKeys);
    const auto most =
        contest_.Speeds("CL.THROTTLE, 1M keys", throttle, Expect::kAllowed, kBeatRedis);
    Pair few = MakePair(kThrottle, kFewKeys);
    contest_.Speeds("CL.THROTTLE, 1000 keys", few, Expect::kAllowed, kBeatRedis);
    Pair check = MakePair(kCheck, kManyKeys);
    contest_.Speeds("SLUICE.CHECK, 1M keys", check, Expect::kAllowed, kDepths);

    CompareLoops();

    if (redis_) {
      contest_.report().BeginLatencies("open loop at half of what sluice managed", "sluice",
                                       "redis");
      contest_.Latencies("CL.THROTTLE, 1M keys", throttle, kDepths, most);
    }
    contest_.Finish();
  }

 private:
  Pair MakePair(const Question& question, std::uint64_t keys) const {
    Pair pair{Ask(sluice_, question, keys), std::nullopt};
    if (redis_) pair.theirs.emplace(Ask(*redis_, kIncrement, keys));
    return pair;
  }

  void CompareLoops() {
    constexpr int kLoops = 2;
    contest_.report().BeginSpeeds("two event loops beside one; on two cores the load shares them",
                                  "two loops", "one loop");
    const ManyEntries entries(has_entries_, folder_);
    const Process two_loops = StartSluice("--resp", kLoops, folder_, entries.flags());
    entries.Put();
    Pair pair{Ask(two_loops, kThrottle, kManyKeys, kLoops), Ask(sluice_, kThrottle, kManyKeys)};
    contest_.Speeds("CL.THROTTLE, 1M keys", pair, Expect::kAllowed, kTwoLoops, kLoops);
  }

  const bool has_entries_;
  Contest contest_;
  testing::Folder folder_;
  ManyEntries entries_{has_entries_, folder_};
  Process sluice_ = StartSluice("--resp", 1, folder_, entries_.flags());
  std::unique_ptr<Process> redis_;  ///< Null if the server is measured alone.
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench(
      "bench_resp", argc, argv,
      [](const sluice::bench::Options& options) { sluice::bench::Bench(options).Run(); },
      {sluice::bench::kEntriesFlag});
}
