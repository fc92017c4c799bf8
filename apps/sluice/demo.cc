#include "demo.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <sluice/sluice.h>

namespace sluice::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Time stands still until the demonstration moves it, so that every run prints the same.
class DemoClock final : public Clock {
 public:
  [[nodiscard]] WallTime Now() const noexcept override { return now_; }
  void MoveTo(Micros since_start) { now_ = kStart + since_start; }

 private:
  static constexpr WallTime kStart = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};
  WallTime now_ = kStart;
};

// A call at a moment; or, with a cost of 0, the end of the oldest call in flight.
struct Step {
  Micros at;
  std::int64_t cost = 1;
};
constexpr std::int64_t kEndOfCall = 0;

struct Scene {
  std::string title;
  Result<Limit> limit;
  std::vector<Step> steps;
};

std::vector<Scene> Scenes() {
  const std::vector<Step> burst{{milliseconds(0)},   {milliseconds(100)}, {milliseconds(200)},
                                {milliseconds(300)}, {milliseconds(700)}, {seconds(1)},
                                {milliseconds(1500)}};
  const SlidingWindowSpec three_a_second{.limit = 3, .window = seconds(1)};
  std::vector<Scene> scenes;
  scenes.push_back({"token_bucket: 3 at once, refilled with 2 a second",
                    Limit::TokenBucket({.capacity = 3, .refill = Rate::PerSecond(2)}), burst});
  scenes.push_back({"leaky_bucket: one every 500 ms, up to 3 in the bucket",
                    Limit::LeakyBucket({.capacity = 3, .leak = Rate::PerSecond(2)}), burst});
  scenes.push_back({"fixed_window: 3 in each second of the clock",
                    Limit::FixedWindow({.limit = 3, .window = seconds(1)}), burst});
  scenes.push_back({"sliding_window_log: 3 in any span of a second",
                    Limit::SlidingWindowLog(three_a_second), burst});
  scenes.push_back({"sliding_window_counter: about 3 in a second, from two counters",
                    Limit::SlidingWindowCounter(three_a_second), burst});
  scenes.push_back({"concurrency: 2 in flight",
                    Limit::Concurrency({.limit = 2, .time_to_live = minutes(1)}),
                    {{milliseconds(0)},
                     {milliseconds(100)},
                     {milliseconds(200)},
                     {milliseconds(300), kEndOfCall},
                     {milliseconds(400)}}});
  return scenes;
}

// Rounded up, so that a wait is never reported too short.
std::string Seconds(Micros span) {
  std::array<char, 32> text{};
  const auto whole = std::chrono::ceil<milliseconds>(span);
  std::snprintf(text.data(), text.size(), "%.3f s", static_cast<double>(whole.count()) / 1000);
  return text.data();
}

std::string SecondsOrNothing(Micros span) { return span == Micros{0} ? "-" : Seconds(span); }

void PrintRow(const char* at, const char* answer, const char* left, const char* retry_after,
              const char* delay) {
  std::printf("  %8s  %-8s %5s  %11s  %8s\n", at, answer, left, retry_after, delay);
}

bool Play(Limiter& limiter, DemoClock& clock, const Scene& scene) {
  if (!scene.limit) {
    std::fprintf(stderr, "%s: %s\n", scene.title.c_str(), scene.limit.error().message.c_str());
    return false;
  }
  const NamedLimit limit{scene.title, *scene.limit};
  std::vector<std::uint64_t> in_flight;
  std::printf("\n%s\n", scene.title.c_str());
  PrintRow("time", "answer", "left", "retry after", "delay");
  for (const Step& step : scene.steps) {
    clock.MoveTo(step.at);
    if (step.cost == kEndOfCall) {
      limiter.Release(limit, "you", in_flight.front());
      in_flight.erase(in_flight.begin());
      const auto look = limiter.Peek(limit, "you", 0);
      PrintRow(Seconds(step.at).c_str(), "released",
               std::to_string(look->tightest.remaining).c_str(), "-", "-");
      continue;
    }
    LimitStatus status;
    const auto decision = limiter.Check(limit, "you", step.cost, &status);
    if (!decision) {
      std::fprintf(stderr, "%s\n", decision.error().message.c_str());
      return false;
    }
    if (decision->allowed) in_flight.push_back(status.receipt.slot);
    const Verdict& verdict = decision->tightest;
    PrintRow(Seconds(step.at).c_str(), decision->allowed ? "allowed" : "denied",
             std::to_string(verdict.remaining).c_str(),
             SecondsOrNothing(verdict.retry_after).c_str(),
             SecondsOrNothing(verdict.delay).c_str());
  }
  return true;
}

}  // namespace

int Demo() {
  DemoClock clock;
  auto limiter = Limiter::InMemory({.max_keys = 1000, .clock = &clock});
  if (!limiter) {
    std::fprintf(stderr, "sluice: %s\n", limiter.error().message.c_str());
    return 1;
  }
  std::printf("Sluice %s. The same calls, as each algorithm answers them.\n", SLUICE_VERSION);
  for (const Scene& scene : Scenes()) {
    if (!Play(*limiter, clock, scene)) return 1;
  }
  return 0;
}

}  // namespace sluice::app
