#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

namespace sluice {

/// A number with a single writer thread, readable from any thread. Adding is a plain load and
/// store, without an atomic read-modify-write. A copy has the value at the time of copying.
template <std::integral Int>
class SingleWriter {
 public:
  SingleWriter(Int value = 0) : value_(value) {}  // NOLINT(*-explicit-*): reads like a number.
  SingleWriter(const SingleWriter& other) : value_(other.value()) {}
  SingleWriter& operator=(const SingleWriter& other) {
    Set(other.value());
    return *this;
  }

  // Relaxed: nothing else is read through a counter. With one writer no increment is lost.
  void Add(Int more = 1) { Set(value() + more); }
  void Set(Int now) { value_.store(now, std::memory_order_relaxed); }
  [[nodiscard]] Int value() const { return value_.load(std::memory_order_relaxed); }
  operator Int() const { return value(); }  // NOLINT(*-explicit-*): reads like a number.
  void operator+=(Int more) { Add(more); }

 private:
  std::atomic<Int> value_;
};

using Counter = SingleWriter<std::uint64_t>;
/// A number that goes up and down.
using Gauge = SingleWriter<std::int64_t>;

}  // namespace sluice
