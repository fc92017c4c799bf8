// Checks by rules over HTTP/1.1, beside nginx with `limit_req`: one core for the server, one for
// the load. Both run interleaved, and medians are printed.

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "load/contest.h"
#include "load/sluice_server.h"
#include "nginx_server.h"
#include "run_bench.h"
#include "tls_bench.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kConnections = 64;
constexpr std::uint64_t kKeys = 100'000;
constexpr Targets kAsFast{.rate = 1};
constexpr std::array<Depth, 2> kAsFastAsNginx{{{1, kAsFast}, {16, kAsFast}}};
constexpr std::array<Depth, 2> kDepths{{{1}, {16}}};

Side Ask(const Process& server, const std::string& path, const std::string& query = "") {
  const std::string request = "GET " + path + "?key=user:" + std::string(Requests::kPlace) + query +
                              " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  return {.server = server,
          .generator = Generator(server.port(), kConnections, Requests(request, kKeys), &ReadHttp),
          .load_cores = PlacesFor(1).load};
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : alone_(options.alone),
        contest_(options, "HTTP/1.1, 64 connections, 100 000 keys"),
        entries_(options.variant == kEntriesFlag, folder_) {
    entries_.Put();
  }

  void Run() {
    if (!alone_ && nginx_.process() == nullptr) std::printf("nginx is not installed: skipped\n");
    contest_.report().BeginSpeeds("a check by rules; nginx: limit_req per key, then 200", "sluice",
                                  "nginx");
    Pair allowed = MakePair("", kNginxLimited);
    const auto most = contest_.Speeds("allowed", allowed, Expect::kAllowed, kAsFastAsNginx);
    Pair two_limits = MakePair("&endpoint=/search", kNginxLimited);
    contest_.Speeds("allowed, two limits (nginx: 1)", two_limits, Expect::kAllowed, kDepths);
    Pair denied = MakePair("&endpoint=/closed", kNginxClosed);
    contest_.Speeds("denied", denied, Expect::kDenied, kDepths);

    if (!alone_) CompareWithPeer(allowed, most);
    contest_.Finish();
  }

 private:
  void CompareWithPeer(Pair& allowed, const std::vector<Most>& most) {
    contest_.report().BeginSpeeds("a check by rules; nginx: return 200 without a limit", "sluice",
                                  "nginx");
    Pair bare = MakePair("", kNginxBare);
    contest_.Speeds("allowed", bare, Expect::kAllowed, kDepths);

    contest_.report().BeginLatencies("open loop at half of what sluice managed", "sluice", "nginx");
    contest_.Latencies("allowed", allowed, kDepths, most);
  }

  Pair MakePair(const std::string& query, const std::string& nginx_path) const {
    Pair pair{Ask(sluice_, "/api/v1/rate-limit/check", query), std::nullopt};
    if (nginx_.process() != nullptr) pair.theirs.emplace(Ask(*nginx_.process(), nginx_path));
    return pair;
  }

  const bool alone_;
  Contest contest_;
  testing::Folder folder_;
  ManyEntries entries_;
  Process sluice_ = StartSluice("--http", 1, folder_, entries_.flags());
  Nginx nginx_{alone_};
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::RunBench("bench_http", argc, argv,
                                 [](const sluice::bench::Options& options) {
                                   if (options.variant == "--tls")
                                     return sluice::bench::RunTlsBench(options);
                                   sluice::bench::Bench(options).Run();
                                 },
                                 {"--tls", sluice::bench::kEntriesFlag});
}
