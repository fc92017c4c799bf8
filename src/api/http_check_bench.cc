#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http_loop.h"
#include "api/http_session.h"
#include "base/clock.h"
#include "limiter/limiter.h"
#include "rules/live_rules.h"
#include "store/memory/memory_store.h"
#include "wire/http_date.h"

// What one GET check by rules costs without sockets: parse, rules, memory store, response.
namespace sluice::api {
namespace {

class BenchHost final : public Host {
 public:
  explicit BenchHost(store::Store& store) : limiter_(store, nullptr, reader_, settings_) {}

  limiter::Limiter& limiter() override { return limiter_; }
  WallTime now() override { return time; }
  std::string_view http_date() override { return date_.At(time); }
  void CountAnswer(Protocol /*protocol*/, const limiter::Question& /*question*/) override {}
  void CountProtocolError(Protocol /*protocol*/) override {}
  [[nodiscard]] bool has_admin_token() const override { return false; }
  [[nodiscard]] bool IsAdminToken(std::string_view /*token*/) const override { return false; }
  [[nodiscard]] std::string_view version() const override { return ""; }
  Health CheckHealth() override { return {}; }
  void AppendMetrics(std::string& /*out*/) override {}
  rules::LiveRules& rules() override { return live; }
  rules::LoadReport ReloadRules() override { return {}; }
  [[nodiscard]] limiter::Enforcement enforcement() const override {
    return limiter::Enforcement::kOn;
  }
  void SetEnforcement(limiter::Enforcement /*enforcement*/) override {}
  bool SetLogLevel(std::string_view /*level*/) override { return false; }
  [[nodiscard]] std::string_view log_level() const override { return ""; }
  std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() override { return {}; }

  WallTime time = TheSystemClock().Now();
  rules::LiveRules live;

 private:
  rules::RulesReader reader_{live};
  limiter::Settings settings_;
  limiter::Limiter limiter_;
  wire::HttpDate date_;
};

class NoCarrier final : public SessionHost {
 public:
  void OutputReady() override {}
};

// Of this thread on a processor: what others do on the machine meanwhile does not count.
double Nanos() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void Run(std::string_view what, HttpSession& session, BenchHost& host, std::string_view path) {
  constexpr std::size_t kKeys = 1000;
  constexpr std::size_t kRounds = 500;
  std::vector<std::string> requests;
  for (std::size_t i = 0; i < kKeys; ++i) {
    requests.push_back("GET " + std::string(path) + std::to_string(i) +
                       " HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: bench/1.0\r\n"
                       "Accept: */*\r\n\r\n");
  }
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const double begin = Nanos();
    for (std::size_t round = 0; round < kRounds; ++round) {
      host.time += std::chrono::milliseconds(10);
      for (const std::string& request : requests) {
        session.Receive(request);
        session.output().clear();
      }
    }
    const double nanos = Nanos() - begin;
    best = std::min(best, nanos / static_cast<double>(kRounds * kKeys));
  }
  std::printf("%-28.*s %6.0f ns\n", static_cast<int>(what.size()), what.data(), best);
}

int Main() {
  auto store = *store::MemoryStore::Create({.max_keys = 100'000});
  BenchHost host(*store);
  host.live.Load("rules.yaml", R"(
rules:
  - { id: search, match: { endpoint: /search }, limit: 30/m }
  - { id: users, match: { endpoint: /users }, limit: 100/m }
  - { id: api, algorithm: token_bucket, capacity: 100, refill_rate: 50 }
)",
                 host.time);
  if (host.live.Active() == nullptr) return EXIT_FAILURE;
  HttpLoop loop(host, {});
  NoCarrier carrier;
  HttpSession session(loop, carrier, {.address = "127.0.0.1", .is_local = true});
  Run("GET check by rules", session, host, "/api/v1/rate-limit/check?key=user:");
  Run("GET check by two rules", session, host,
      "/api/v1/rate-limit/check?endpoint=/search&key=user:");
  Run("GET check by algorithm", session, host,
      "/api/v1/rate-limit/check?algorithm=TOKEN_BUCKET&key=user:");
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace sluice::api

int main() { return sluice::api::Main(); }
