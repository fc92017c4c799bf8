#include "net/loops.h"

#include <algorithm>
#include <latch>

#include <sched.h>

namespace sluice::net {
namespace {

std::size_t CoresOfThisProcess() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return static_cast<std::size_t>(std::max(CPU_COUNT(&cores), 1));
}

}  // namespace

Loops::Loops(std::size_t count) {
  if (count == 0) count = CoresOfThisProcess();
  loops_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) loops_.push_back(std::make_unique<Member>());
}

void Loops::Post(const std::function<void(std::size_t index)>& function) {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    (*this)[i].Post([function, i] { function(i); });
  }
}

void Loops::Do(const std::function<void(std::size_t index)>& function) {
  // Shared: the last notifier may still use it after the waiter has returned.
  const auto left = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(loops_.size()));
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    (*this)[i].Post([&function, left, i] {
      function(i);
      left->count_down();
    });
  }
  left->wait();
}

bool Loops::TakePulse() {
  bool alive = true;
  for (const auto& member : loops_) {
    // Relaxed: only the number matters.
    if (member->pulse.load(std::memory_order_relaxed) != member->asked) {
      alive = false;  // The last probe is still pending.
      continue;
    }
    const std::uint64_t ask = ++member->asked;
    member->thread.loop().Post(
        [&pulse = member->pulse, ask] { pulse.store(ask, std::memory_order_relaxed); });
  }
  return alive;
}

}  // namespace sluice::net
