#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "transport/admission.h"
#include "transport/memory_budget.h"

namespace sluice::server {

/// Gives memory back to the system that connections no longer hold. By itself the allocator keeps
/// most of what is freed for later allocations, which after a flood may never come.
///
/// Has a thread of its own: giving back takes milliseconds, in which nothing else should wait.
class MemoryReturner {
 public:
  /// Less is not worth the effort.
  static constexpr std::size_t kLeast = std::size_t{16} << 20;
  /// A connection itself, beside its input and output, about: most of it is the state of TLS.
  static constexpr std::size_t kBytesPerConnection = std::size_t{32} << 10;

  /// Both must outlive it.
  MemoryReturner(transport::MemoryBudget& budget, transport::Admission& admission);
  ~MemoryReturner();
  MemoryReturner(const MemoryReturner&) = delete;
  MemoryReturner& operator=(const MemoryReturner&) = delete;

 private:
  void Run();

  transport::MemoryBudget& budget_;
  transport::Admission& admission_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace sluice::server
