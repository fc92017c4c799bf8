#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/key_hash.h"

namespace sluice::lease {

/// Detects keys that are in demand: called several times in a row, at most kGap apart. Fixed memory
/// and no state per key: keys that share a slot displace each other, so that a busy key may be
/// noticed a few calls later. Thread-safe; concurrent calls may be counted as one.
class KeyDemandSketch {
 public:
  static constexpr Micros kGap = std::chrono::milliseconds(100);
  static constexpr std::size_t kSlots = std::size_t{1} << 15;

  /// Counts a call of the key. Returns the calls in a row, this one included, up to kMaxCalls.
  std::uint32_t Count(const KeyHash& hash, SteadyTime now) {
    // Relaxed: an independent hint.
    std::atomic<std::uint32_t>& slot = slots_[hash.low % kSlots];
    const std::uint32_t before = slot.load(std::memory_order_relaxed);
    const auto time = static_cast<std::uint16_t>(now.time_since_epoch() / kUnit);
    const auto tag = static_cast<std::uint32_t>(hash.high & kTagMask) << kTagShift;
    const auto elapsed = static_cast<std::uint16_t>(time - static_cast<std::uint16_t>(before));
    std::uint32_t calls = 1;
    if ((before & kTagMask << kTagShift) == tag && elapsed <= kGap / kUnit) {
      calls = std::min((before >> kCallsShift & kMaxCalls) + 1, kMaxCalls);
    }
    slot.store(tag | calls << kCallsShift | time, std::memory_order_relaxed);
    return calls;
  }

  static constexpr std::uint32_t kMaxCalls = 15;

 private:
  // A slot: 12 bits of the key's hash, 4 of the calls, 16 of the time, which wraps around after a
  // minute: then a call too many may be counted.
  static constexpr Micros kUnit = std::chrono::milliseconds(1);
  static constexpr std::uint32_t kTagMask = 0xFFF;
  static constexpr int kTagShift = 20;
  static constexpr int kCallsShift = 16;

  std::array<std::atomic<std::uint32_t>, kSlots> slots_{};
};

}  // namespace sluice::lease
