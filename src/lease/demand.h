#pragma once

#include <chrono>

#include "base/clock.h"

namespace sluice::lease {

/// Recent demand in tokens per second: an exponentially decaying count.
class Demand {
 public:
  void Add(double tokens, SteadyTime now) {
    Fade(now);
    count_ += tokens;
  }

  /// Returns tokens per second, as of the last call that was counted.
  [[nodiscard]] double Rate() const { return count_ / kSpan.count(); }
  [[nodiscard]] double RateAt(SteadyTime now) const {
    Demand faded = *this;
    faded.Fade(now);
    return faded.Rate();
  }
  [[nodiscard]] SteadyTime last() const { return at_; }

 private:
  using Seconds = std::chrono::duration<double>;
  static constexpr Seconds kSpan{0.2};

  // 1 / (1 + x + x²/2) instead of e^-x: nearly the same, and cheap.
  void Fade(SteadyTime now) {
    if (now <= at_) return;
    const double x = Seconds(now - at_) / kSpan;
    count_ /= 1 + x * (1 + x / 2);
    at_ = now;
  }

  double count_ = 0;
  SteadyTime at_{};
};

}  // namespace sluice::lease
