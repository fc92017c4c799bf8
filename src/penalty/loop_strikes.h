#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sluice/time.h>

#include "base/key_hash.h"
#include "limiter/check_request.h"
#include "match/entry.h"
#include "rules/penalty.h"

namespace sluice::penalty {

/// Strikes against one caller under one rule.
struct Strike {
  match::Entry offender{};  ///< See OffenderOf; its id is set.
  std::string rule{};       ///< That denied.
  rules::Penalty penalty{};
  std::int64_t denials = 0;
  std::int64_t ignored_backoff = 0;  ///< Of these, calls before the time that a denial named.
};

/// Strikes of one event loop, between two exchanges.
class StrikeBuffer {
 public:
  static constexpr std::size_t kMaxStrikes = 1024;

  StrikeBuffer() { strikes_.reserve(kMaxStrikes); }
  /// Finds the strike of a caller, given a hash of caller and rule; null: it is new.
  [[nodiscard]] Strike* Find(std::uint64_t hash);
  /// Adds one that is new. Null: there is no room.
  Strike* Add(std::uint64_t hash, Strike strike);
  /// Counts a denial that there was no room for.
  void Drop() { ++dropped_; }

  [[nodiscard]] std::vector<Strike>& strikes() { return strikes_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  void Clear();

 private:
  static constexpr std::size_t kSlots = 4 * kMaxStrikes;
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t strike = 0;  ///< Index plus one; 0: empty.
  };

  [[nodiscard]] Slot& SlotOf(std::uint64_t hash);

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
  std::vector<Strike> strikes_;
  std::uint64_t dropped_ = 0;
};

/// Counts the denials of one event loop by rules with a penalty. All functions but has_strikes run
/// on that loop's thread; another thread reads by exchange, as with telemetry::LoopInsight.
class LoopStrikes {
 public:
  /// A denied call may have been sent before its caller knew of the denial before it.
  static constexpr Micros kGrace = std::chrono::seconds(1);

  /// `hasher` must outlive it.
  explicit LoopStrikes(const KeyHasher& hasher)
      : hasher_(hasher), buffer_(std::make_unique<StrikeBuffer>()) {}

  /// Counts a decided check. Allocates only for callers that were not denied since the last
  /// exchange.
  void Count(const limiter::CheckRequest& check, WallTime now) {
    if (!check.allowed && check.ruling == Ruling::kDecided) CountDenied(check, now);
  }

  /// Gives away what was counted and goes on with `empty`.
  [[nodiscard]] std::unique_ptr<StrikeBuffer> Exchange(std::unique_ptr<StrikeBuffer> empty);
  /// From any thread. Relaxed: what was counted is read after an exchange only.
  [[nodiscard]] bool has_strikes() const { return has_strikes_.load(std::memory_order_relaxed); }

 private:
  /// The wait that a denial announced to a caller. Of two callers with the same place, one is kept.
  struct Backoff {
    std::uint64_t hash = 0;
    WallTime since{};
    WallTime until{};
  };
  static constexpr std::size_t kBackoffs = 4096;

  void CountDenied(const limiter::CheckRequest& check, WallTime now);
  bool IgnoresBackoff(std::uint64_t hash, Micros wait, WallTime now);

  const KeyHasher& hasher_;
  std::unique_ptr<StrikeBuffer> buffer_;
  std::vector<Backoff> backoffs_;  ///< Empty until a rule needs it.
  std::atomic<bool> has_strikes_{false};
};

}  // namespace sluice::penalty
