#pragma once

#include <algorithm>
#include <cstdint>

#include <sluice/time.h>

#include "base/random.h"

namespace sluice::redis {

/// Exponential backoff with full jitter: a random pause between 0 and a bound that doubles with
/// each failure, so that clients of a failed server don't reconnect at the same time.
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
