// Envoy's rate limit service over gRPC, beside a grpc++ server that answers a constant: one core
// for the server, one for the load. Both run interleaved, and medians are printed.

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grpc_dialogue.h"
#include "load/contest.h"
#include "load/redis_process.h"
#include "load/sluice_server.h"
#include "redis/testing/redis_server.h"
#include "run_bench.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kConnections = 16;
constexpr std::uint64_t kKeys = 100'000;
constexpr std::uint64_t kBusyKeys = 1'000;
constexpr std::array<Depth, 2> kFiveTimes{{{1}, {32, {.rate = 5}}}};
constexpr std::array<Depth, 2> kDepths{{{1}, {32}}};
constexpr std::array<Depth, 1> kDeep{{{32}}};

constexpr const char* kLimits = R"(domain: bench
descriptors:
  - key: api_key
    rate_limit: { unit: year, requests_per_unit: 1000000000 }
  - key: path
    value: /search
    rate_limit: { unit: year, requests_per_unit: 4000000000 }
  - key: closed
    rate_limit: { unit: year, requests_per_unit: 1 }
  - key: exact
    rate_limit: { unit: year, requests_per_unit: 1000000000 }
    on_store_failure: closed
  - key: leased
    rate_limit: { unit: year, requests_per_unit: 1000000000 }
    consistency: leased
    on_store_failure: closed
)";

// The folder of the limits.
class EnvoyConfig {
 public:
  EnvoyConfig() { testing::WriteInPlace(folder_ / "bench.yaml", kLimits); }
  [[nodiscard]] std::string path() const { return folder_.path().string(); }

 private:
  testing::Folder folder_;
};

// A field of a message that is a text or a message.
std::string Field(int number, std::string_view content) {
  return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(content.size())) +
         std::string(content);
}

std::string Descriptor(std::string_view key, std::string_view value) {
  return Field(2, Field(1, Field(1, key) + Field(2, value)));
}

const std::string kUser = "user:" + std::string(Requests::kPlace);

// RateLimitRequests, as Envoy sends them.
std::string Question(std::initializer_list<std::string> descriptors) {
  std::string message = Field(1, "bench");
  for (const std::string& descriptor : descriptors) message += descriptor;
  return message;
}

Side Ask(const Process& server, const std::string& message, std::uint64_t keys = kKeys) {
  const auto messages = std::make_shared<Requests>(GrpcDialogue::FramedMessage(message), keys);
  return {.server = server,
          .generator = Generator(std::vector{server.port()}, kConnections, keys,
                                 [messages] { return std::make_unique<GrpcDialogue>(messages); }),
          .load_cores = PlacesFor(1).load};
}

// Empty if it was not built: grpc++ is not installed.
std::optional<Process> StartPeer() {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bench_grpcpp_server";
  if (!std::filesystem::exists(program)) return std::nullopt;
  const std::uint16_t port = redis::testing::FreePort();
  return std::optional<Process>(std::in_place,
                                std::vector<std::string>{program.string(), std::to_string(port)},
                                port, PlacesFor(1).server);
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : alone_(options.alone),
        contest_(options, "gRPC, ShouldRateLimit, 16 connections, 100 000 keys") {}

  void Run() {
    if (!alone_ && !peer_) std::printf("grpc++ is not installed: skipped\n");
    contest_.report().BeginSpeeds("a check; grpc++: a constant answer", "sluice", "grpc++");
    Pair one = MakePair({Descriptor("api_key", kUser)});
    const auto most = contest_.Speeds("allowed", one, Expect::kAllowed, kFiveTimes);
    Pair two = MakePair({Descriptor("api_key", kUser), Descriptor("path", "/search")});
    contest_.Speeds("allowed, two descriptors", two, Expect::kAllowed, kDeep);
    Pair denied{Ask(sluice_, Question({Descriptor("closed", kUser)})), std::nullopt};
    contest_.Speeds("denied", denied, Expect::kDenied, kDeep);

    if (peer_) {
      contest_.report().BeginLatencies("open loop at half of what grpc++ managed", "sluice",
                                       "grpc++");
      contest_.Latencies("allowed", one, kDepths, most, &Most::theirs);
    }
    if (!alone_) {
      contest_.report().BeginLatencies("open loop at half of what sluice managed", "sluice",
                                       "grpc++");
      Pair ours{Ask(sluice_, Question({Descriptor("api_key", kUser)})), std::nullopt};
      contest_.Latencies("allowed", ours, kDepths, most);
    }

    CompareLeases();
    contest_.Finish();
  }

 private:
  Pair MakePair(std::initializer_list<std::string> descriptors) const {
    const std::string question = Question(descriptors);
    Pair pair{Ask(sluice_, question), std::nullopt};
    if (peer_) pair.theirs.emplace(Ask(*peer_, question));
    return pair;
  }

  // Redis shares the core of the load. What it does not answer in time is denied, and no figure.
  void CompareLeases() {
    contest_.report().BeginSpeeds("limits in Redis, 1000 keys; exact: each check asks it", "leased",
                                  "exact");
    const Process redis = StartRedis(PlacesFor(1).load, folder_);
    const Process server = StartSluiceOn(
        "redis://127.0.0.1:" + std::to_string(redis.port()), "rules: []", "--grpc", 1, folder_,
        PlacesFor(1).server,
        {"--envoy-config", limits_.path(), "--grpc-deadline", "10s", "--store-deadline", "10s"});
    Pair pair{Ask(server, Question({Descriptor("leased", kUser)}), kBusyKeys),
              Ask(server, Question({Descriptor("exact", kUser)}), kBusyKeys)};
    contest_.Speeds("allowed", pair, Expect::kAllowed, kDepths);
  }

  const bool alone_;
  Contest contest_;
  testing::Folder folder_;
  EnvoyConfig limits_;
  Process sluice_ = StartSluice("--grpc", 1, folder_, {"--envoy-config", limits_.path()});
  std::optional<Process> peer_ = alone_ ? std::nullopt : StartPeer();
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench(
      "bench_grpc", argc, argv,
      [](const sluice::bench::Options& options) { sluice::bench::Bench(options).Run(); });
}
