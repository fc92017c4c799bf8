#pragma once

#include <atomic>
#include <cstdint>

namespace sluice {

/// A number that one thread writes and any may read: adding is a load and a store, without the lock
/// on the bus that several writers would need.
class Counter {
 public:
  // Relaxed: nothing else is read through a counter. With one writer no increment is lost.
  void Add(std::uint64_t more = 1) { Set(value() + more); }
  void Set(std::uint64_t now) { value_.store(now, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// A number that goes up and down, likewise.
class Gauge {
 public:
  // Relaxed, as for counters.
  void Add(std::int64_t more) { Set(value() + more); }
  void Set(std::int64_t now) { value_.store(now, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

}  // namespace sluice
