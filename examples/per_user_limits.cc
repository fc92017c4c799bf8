// Many threads, many users, one limiter: each user has its own budget, whichever thread
// serves it. A Limiter may be called from any number of threads at any time.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <vector>

#include <sluice/sluice.h>

namespace {

struct User {
  const char* name;
  bool paying;
};

constexpr std::array<User, 4> kUsers{
    {{"alice", true}, {"bob", false}, {"carol", true}, {"dave", false}}};
constexpr int kThreads = 4;
constexpr int kCallsPerThread = 40;  // For each user: 160 calls, more than anyone may make.
constexpr int kFreeCalls = 20;
constexpr int kPaidCalls = 100;

}  // namespace

int main() {
  auto limiter = sluice::Limiter::InMemory();
  // A number of calls per hour; the hour begins with a user's first call.
  const auto hourly = [](int calls) {
    return sluice::Limit::FixedWindow(
        {.limit = calls, .window = std::chrono::hours(1), .anchor = sluice::Anchor::kFirstHit});
  };
  const auto free_limit = hourly(kFreeCalls);
  const auto paid_limit = hourly(kPaidCalls);
  if (!limiter || !free_limit || !paid_limit) return 1;
  // The name is part of the key: "free" and "paid" of one user would be two budgets.
  const sluice::NamedLimit free{"free", *free_limit};
  const sluice::NamedLimit paid{"paid", *paid_limit};

  std::array<std::atomic<int>, kUsers.size()> passed{};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < kCallsPerThread; ++call) {
        for (std::size_t i = 0; i < kUsers.size(); ++i) {
          const auto decision = limiter->Check(kUsers[i].paying ? paid : free, kUsers[i].name);
          if (decision->allowed) ++passed[i];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  bool right = true;
  for (std::size_t i = 0; i < kUsers.size(); ++i) {
    const int expected = kUsers[i].paying ? kPaidCalls : kFreeCalls;
    std::printf("%-6s %3d of %d calls passed\n", kUsers[i].name, passed[i].load(),
                kThreads * kCallsPerThread);
    right = right && passed[i] == expected;
  }
  if (!right) std::puts("not what the limits say");
  return right ? 0 : 1;
}
