#pragma once

#include <cstdint>

namespace sluice::telemetry {

/// Chooses events at random so that their number stays bounded: all of them while there are few,
/// then one in 2, 4, 8 and so on, each time after as many more were chosen. Until Restart; so each
/// stretch of time has a budget, and a flood costs little more than counting. For one thread.
class AdaptiveSampler {
 public:
  /// `all`: events of a stretch that are all chosen; `step`: those chosen before the share halves.
  AdaptiveSampler(std::uint32_t all, std::uint32_t step, std::uint64_t seed)
      : all_(all), step_(step), until_halved_(all), state_(seed | 1) {}

  /// Returns the number of events for which this one stands; 0: it is not chosen.
  std::uint32_t Choose() {
    if (share_mask_ != 0 && (Random() & share_mask_) != 0) return 0;
    const std::uint32_t weight = share_mask_ + 1;
    if (--until_halved_ == 0) {
      until_halved_ = step_;
      if (share_mask_ < kMaxMask) share_mask_ = share_mask_ * 2 + 1;
    }
    return weight;
  }

  /// Begins the next stretch.
  void Restart() {
    share_mask_ = 0;
    until_halved_ = all_;
  }

 private:
  static constexpr std::uint32_t kMaxMask = (1U << 20) - 1;

  // xorshift64*: unpredictable enough for callers that can't see the state.
  std::uint32_t Random() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1D) >> 32);
  }

  const std::uint32_t all_;
  const std::uint32_t step_;
  std::uint32_t until_halved_;
  std::uint32_t share_mask_ = 0;
  std::uint64_t state_;
};

}  // namespace sluice::telemetry
