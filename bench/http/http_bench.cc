// Checks by rules over HTTP/1.1, beside nginx with `limit_req`: one core for the server, one for
// the load. Both run interleaved, and medians are printed.

#include <array>
#include <chrono>
#include <cstdio>
#include <string>

#include "load/duel.h"
#include "load/report.h"
#include "load/sluice_server.h"
#include "nginx_server.h"
#include "run_bench.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kConnections = 64;
constexpr std::uint64_t kKeys = 100'000;
constexpr std::array<std::size_t, 2> kDepths{1, 16};
constexpr Targets kAsFast{.rate = 1};
constexpr Targets kNone{};
const std::string kCheck = "/api/v1/rate-limit/check";

Side Ask(const Process& server, const std::string& path, const std::string& query = "") {
  const std::string request = "GET " + path + "?key=user:" + std::string(Requests::kPlace) + query +
                              " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  return {.server = server,
          .generator = Generator(server.port(), kConnections, Requests(request, kKeys), &ReadHttp),
          .load_cores = PlacesFor(1).load};
}

class Bench {
 public:
  explicit Bench(bool quick)
      : rounds_(quick ? Rounds{3, std::chrono::milliseconds(300)}
                      : Rounds{5, std::chrono::seconds(2)}) {}

  void Run() {
    std::printf(
        "HTTP/1.1, %zu connections, %llu keys, limits in memory; medians of %d rounds of %.1f s\n",
        kConnections, static_cast<unsigned long long>(kKeys), rounds_.count,
        std::chrono::duration<double>(rounds_.duration).count());
    if (nginx_.process() == nullptr) std::printf("nginx is not installed: skipped\n");

    report_.BeginSpeeds("a check by rules; nginx: limit_req per key, then 200", "sluice", "nginx");
    Pair allowed = MakePair("", kNginxLimited);
    const std::vector<double> most = Speeds("allowed", allowed, Expect::kAllowed, kAsFast);
    Pair two_limits = MakePair("&endpoint=/search", kNginxLimited);
    Speeds("allowed, two limits (nginx: 1)", two_limits, Expect::kAllowed, kNone);
    Pair denied = MakePair("&endpoint=/closed", kNginxClosed);
    Speeds("denied", denied, Expect::kDenied, kNone);

    report_.BeginSpeeds("a check by rules; nginx: return 200 without a limit", "sluice", "nginx");
    Pair bare = MakePair("", kNginxBare);
    Speeds("allowed", bare, Expect::kAllowed, kNone);

    report_.BeginLatencies("open loop at half of what sluice managed", "sluice", "nginx");
    for (std::size_t i = 0; i < kDepths.size(); ++i) {
      report_.Add("allowed", kDepths[i], most[i] / 2,
                  CompareLatency(allowed, kDepths[i], most[i] / 2, rounds_));
    }
    report_.PrintSum();
  }

  [[nodiscard]] const Report& report() const { return report_; }

 private:
  Pair MakePair(const std::string& query, const std::string& nginx_path) const {
    Pair pair{Ask(sluice_, kCheck, query), std::nullopt};
    if (nginx_.process() != nullptr) pair.theirs.emplace(Ask(*nginx_.process(), nginx_path));
    return pair;
  }

  // Returns how many calls a second we managed at each depth.
  std::vector<double> Speeds(const std::string& what, Pair& pair, Expect expect,
                             const Targets& targets) {
    ShowKeys(pair, kDepths.back());
    std::vector<double> ours;
    for (const std::size_t depth : kDepths) {
      const Compared<Speed> measured = CompareSpeed(pair, depth, expect, rounds_);
      report_.Add(what, depth, measured, targets);
      ours.push_back(measured.ours.per_second);
    }
    return ours;
  }

  const Rounds rounds_;
  Folder folder_;
  Process sluice_ = StartSluice("--http", 1, folder_);
  Nginx nginx_;
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
  return sluice::bench::RunBench("bench_http", argc, argv, sluice::bench::Main);
}
