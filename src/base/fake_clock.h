#pragma once

#include <atomic>
#include <cstdint>

#include <sluice/time.h>

namespace sluice {

/// A clock that stands still until a test moves it.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(WallTime now) : micros_(now.time_since_epoch().count()) {}

  [[nodiscard]] WallTime Now() const noexcept override { return WallTime{Micros{micros_.load()}}; }
  void Set(WallTime now) { micros_.store(now.time_since_epoch().count()); }
  void Advance(Micros by) { micros_.fetch_add(by.count()); }

 private:
  std::atomic<std::int64_t> micros_;
};

}  // namespace sluice
