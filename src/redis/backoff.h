#pragma once

#include <algorithm>
#include <cstdint>

#include <sluice/time.h>

#include "base/random.h"

namespace sluice::redis {

/// How long to wait before the next attempt: anything from nothing to a bound that doubles with
/// each failure. The whole span is random, so that those who lost a server together don't come back
/// together.
class Backoff {
 public:
  Backoff(Micros min, Micros max) : min_(min), max_(max), bound_(min) {}

  Micros Next() {
    const auto choices = static_cast<std::uint64_t>(bound_.count()) + 1;
    const Micros pause(static_cast<std::int64_t>(RandomId() % choices));
    bound_ = std::min(max_, 2 * bound_);
    return pause;
  }

  void Reset() { bound_ = min_; }
  [[nodiscard]] Micros bound() const { return bound_; }

 private:
  Micros min_;
  Micros max_;
  Micros bound_;
};

}  // namespace sluice::redis
