// Checks over the Redis protocol, beside redis-server's INCR: one core for the server, one for the
// load; then two event loops beside one. Both run interleaved, and medians are printed.

#include <array>
#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include "load/duel.h"
#include "load/report.h"
#include "load/sluice_server.h"
#include "redis/testing/redis_server.h"
#include "resp/encoder.h"
#include "run_bench.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kConnections = 50;
constexpr std::uint64_t kManyKeys = 1'000'000;
constexpr std::uint64_t kFewKeys = 1'000;
constexpr std::array<std::size_t, 3> kDepths{1, 16, 128};
constexpr std::size_t kDeepest = kDepths.back();
constexpr Targets kNone{};
constexpr Targets kBeatRedis{.rate = 1.5, .cpu = 0.4};
constexpr Targets kTwoLoops{.cpu = 1.15, .per_second = 1.7e6};

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
const Question kThrottle{Command({"CL.THROTTLE", kKey, "999999", "100", "3600"}), &ReadThrottle};
const Question kCheck{Command({"SLUICE.CHECK", "api_key", kKey}), &ReadCheck};
const Question kIncrement{Command({"INCR", kKey}), &ReadCount};

Side Ask(const Process& server, const Question& question, std::uint64_t keys,
         std::size_t loops = 1) {
  return {.server = server,
          .generator = Generator(server.port(), kConnections, Requests(question.command, keys),
                                 question.read),
          .load_cores = PlacesFor(loops).load};
}

Process StartRedis(const Folder& folder) {
  const std::uint16_t port = redis::testing::FreePort();
  return {{"redis-server", "--bind", "127.0.0.1", "--port", std::to_string(port), "--save", "",
           "--appendonly", "no", "--dir", folder.path().string()},
          port,
          PlacesFor(1).server};
}

class Bench {
 public:
  explicit Bench(bool quick)
      : rounds_(quick ? Rounds{3, std::chrono::milliseconds(300)}
                      : Rounds{5, std::chrono::seconds(2)}) {}

  void Run() {
    std::printf("RESP, %zu connections, limits in memory; medians of %d rounds of %.1f s\n",
                kConnections, rounds_.count,
                std::chrono::duration<double>(rounds_.duration).count());
    report_.BeginSpeeds("a check; redis: INCR", "sluice", "redis");
    Pair throttle = MakePair(kThrottle, kManyKeys);
    const std::vector<double> most = Speeds("CL.THROTTLE, 1M keys", throttle, kBeatRedis);
    Pair few = MakePair(kThrottle, kFewKeys);
    Speeds("CL.THROTTLE, 1000 keys", few, kBeatRedis);
    Pair check = MakePair(kCheck, kManyKeys);
    Speeds("SLUICE.CHECK, 1M keys", check, kNone);

    CompareLoops();

    report_.BeginLatencies("open loop at half of what sluice managed", "sluice", "redis");
    for (std::size_t i = 0; i < kDepths.size(); ++i) {
      report_.Add("CL.THROTTLE, 1M keys", kDepths[i], most[i] / 2,
                  CompareLatency(throttle, kDepths[i], most[i] / 2, rounds_));
    }
    report_.PrintSum();
  }

  [[nodiscard]] const Report& report() const { return report_; }

 private:
  Pair MakePair(const Question& question, std::uint64_t keys) const {
    return {Ask(sluice_, question, keys), Ask(redis_, kIncrement, keys)};
  }

  // Returns how many calls a second we managed at each depth. The targets are for the deepest.
  std::vector<double> Speeds(const std::string& what, Pair& pair, const Targets& targets) {
    ShowKeys(pair, kDeepest);
    std::vector<double> ours;
    for (const std::size_t depth : kDepths) {
      const Compared<Speed> measured = CompareSpeed(pair, depth, Expect::kAllowed, rounds_);
      report_.Add(what, depth, measured, depth == kDeepest ? targets : kNone);
      ours.push_back(measured.ours.per_second);
    }
    return ours;
  }

  void CompareLoops() {
    constexpr std::size_t kLoops = 2;
    report_.BeginSpeeds("two event loops beside one; on two cores the load shares them",
                        "two loops", "one loop");
    const Process two_loops = StartSluice("--resp", kLoops, folder_);
    Pair pair{Ask(two_loops, kThrottle, kManyKeys, kLoops), Ask(sluice_, kThrottle, kManyKeys)};
    ShowKeys(pair, kDeepest);
    report_.Add("CL.THROTTLE, 1M keys", kDeepest,
                CompareSpeed(pair, kDeepest, Expect::kAllowed, rounds_), kTwoLoops, kLoops);
  }

  const Rounds rounds_;
  Folder folder_;
  Process sluice_ = StartSluice("--resp", 1, folder_);
  Process redis_ = StartRedis(folder_);
  Report report_;
};

void Main(const Options& options) {
  Bench bench(options.quick);
  bench.Run();
  if (!options.json.empty()) bench.report().WriteJson(options.json);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_resp", argc, argv, sluice::bench::Main);
}
