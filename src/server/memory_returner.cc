#include "server/memory_returner.h"

#include <algorithm>
#include <chrono>

#include <malloc.h>
#include <pthread.h>

namespace sluice::server {
namespace {

constexpr auto kCheckInterval = std::chrono::seconds(1);
// While memory is given back, other threads may have to wait for the allocator's locks.
constexpr auto kBetweenReturns = std::chrono::seconds(10);

}  // namespace

MemoryReturner::MemoryReturner(transport::MemoryBudget& budget, transport::Admission& admission)
    : budget_(budget), admission_(admission), thread_([this] { Run(); }) {}

MemoryReturner::~MemoryReturner() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MemoryReturner::Run() {
  pthread_setname_np(pthread_self(), "sluice-memory");  // For those who look at the threads.
  std::size_t peak = 0;
  std::unique_lock lock(mutex_);
  const auto pause = [&](auto time) {
    return !changed_.wait_for(lock, time, [this] { return ending_; });
  };
  while (pause(kCheckInterval)) {
    // The two peaks need not be of one moment: at worst it looks once too often.
    peak = std::max(peak, budget_.TakePeak() + admission_.TakePeak() * kBytesPerConnection);
    const std::size_t used = budget_.used() + admission_.size() * kBytesPerConnection;
    if (peak < used + kLeast) continue;
    peak = used;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    if (!pause(kBetweenReturns)) return;
  }
}

}  // namespace sluice::server
