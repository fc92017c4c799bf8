#pragma once

#include <chrono>
#include <cstdint>

#include <sluice/decision.h>
#include <sluice/limit.h>

#include "algo/state.h"

namespace sluice::algo::testing {

/// The beginning of a day: of every window that divides one, too.
inline constexpr WallTime kStart{std::chrono::hours(24) * 20'000};

/// One key and one limit, driven through the functions of algo/state.h the way a store does it.
class SingleKey {
 public:
  SingleKey(const Limit& limit, WallTime now);
  SingleKey(const SingleKey& other);
  SingleKey& operator=(const SingleKey& other);

  /// Takes if it fits.
  Verdict Check(WallTime now, std::int64_t cost, std::uint64_t slot = 0);
  /// What Check would say.
  [[nodiscard]] Verdict Peek(WallTime now, std::int64_t cost) const;
  /// Takes, below zero if need be.
  void Force(WallTime now, std::int64_t cost, std::uint64_t slot = 0);
  void Adjust(WallTime now, WallTime taken_at, std::int64_t delta);
  bool Release(WallTime now, std::uint64_t slot);
  bool Renew(WallTime now, std::uint64_t slot);
  void ChangeLimit(const Limit& to, WallTime now);

  [[nodiscard]] std::int64_t Left(WallTime now) const;
  [[nodiscard]] bool Holds(WallTime now, std::uint64_t slot) const;
  /// Names what the last Check or Force took, for Adjust.
  [[nodiscard]] WallTime ReceiptTime() const { return state_.at; }
  /// What is remembered, to the last bit.
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const History& history() const { return history_; }

 private:
  [[nodiscard]] State AdvancedTo(WallTime now) const;
  void TakeOrRenew(State& state, std::int64_t cost, std::uint64_t slot);

  LimitNumbers limit_;
  History history_;
  State state_;
};

/// Whether both remember the same, to the last bit.
bool SameMemory(const SingleKey& a, const SingleKey& b);

}  // namespace sluice::algo::testing
