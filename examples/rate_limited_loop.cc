// A loop that keeps to a rate, in two ways:
//
// - A token bucket lets bursts through. When it is empty, it returns the time until the same call
//   succeeds (`retry_after`).
// - A leaky bucket spaces calls evenly. It lets a call in at once and says how long that call must
//   wait for its turn (`delay`); only when the queue is full does it deny.

#include <cstdint>
#include <cstdio>
#include <thread>

#include <sluice/sluice.h>

namespace {

constexpr int kJobs = 15;
constexpr std::int64_t kPerSecond = 50;
constexpr std::int64_t kBurst = 5;

double Milliseconds(sluice::Micros span) { return static_cast<double>(span.count()) / 1000; }

// Runs all jobs, and returns the time between the first and the last of them.
sluice::Micros DoJobs(sluice::Limiter& limiter, const sluice::NamedLimit& limit) {
  sluice::WallTime first;
  sluice::WallTime last;
  for (int job = 0; job < kJobs; ++job) {
    sluice::LimitStatus status;
    for (;;) {
      const auto decision = limiter.Check(limit, "worker", 1, &status);
      if (decision->allowed) break;
      std::this_thread::sleep_for(decision->tightest.retry_after);
    }
    std::this_thread::sleep_for(status.verdict.delay);  // Zero unless the bucket is leaky.
    // The job would run here. `receipt.at` is the time at which it was admitted.
    last = status.receipt.at + status.verdict.delay;
    if (job == 0) first = last;
  }
  return last - first;
}

}  // namespace

int main() {
  auto limiter = sluice::Limiter::InMemory();
  const auto bursty = sluice::Limit::TokenBucket(
      {.capacity = kBurst, .refill = sluice::Rate::PerSecond(kPerSecond)});
  const auto even =
      sluice::Limit::LeakyBucket({.capacity = 2, .leak = sluice::Rate::PerSecond(kPerSecond)});
  if (!limiter || !bursty || !even) return 1;

  // The first kBurst jobs find tokens; each of the others waits for one to arrive.
  const sluice::Micros with_bursts = DoJobs(*limiter, {"bursty", *bursty});
  const sluice::Micros spaced = DoJobs(*limiter, {"even", *even});
  const sluice::Micros between = sluice::Micros{1'000'000} / kPerSecond;
  std::printf("%d jobs in %.1f ms with bursts, in %.1f ms evenly spaced\n", kJobs,
              Milliseconds(with_bursts), Milliseconds(spaced));

  const bool kept_to_the_rate =
      with_bursts >= (kJobs - kBurst) * between && spaced >= (kJobs - 1) * between;
  if (!kept_to_the_rate) std::puts("faster than allowed");
  return kept_to_the_rate ? 0 : 1;
}
