#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "algo/lease.h"
#include "base/clock.h"
#include "lease/demand.h"
#include "lease/held_lease.h"
#include "lease/lease_table.h"

namespace sluice::lease {

/// The leases of one key on one node. Not thread-safe.
class KeyLeases {
 public:
  /// Returns the decision on a call of `cost`; kNeedsLease if the held tokens don't suffice.
  [[nodiscard]] SpendResult Peek(std::int64_t cost, SteadyTime now) const;
  /// Carries out the decision of Peek, updated to the current state.
  void Spend(std::int64_t cost, SteadyTime now, SpendAttempt attempt, SpendResult& spent,
             TableStats& stats);
  void Unspend(std::int64_t cost, TableStats& stats);

  algo::lease::Request MakeRequest(std::int64_t waiting, std::int64_t least, std::int64_t nodes,
                                   SteadyTime now, TableStats& stats);
  /// Adds a grant. `least` is the one of the request.
  void Granted(std::int64_t least, SteadyTime sent, SteadyTime now, Micros slack,
               const algo::lease::Grant& grant, TableStats& stats);
  void Unanswered() { --in_flight_; }

  /// Returns all tokens but those needed in the next moments.
  void Recall(SteadyTime now, TableStats& stats);
  /// Returns all tokens.
  void Surrender(TableStats& stats);
  /// Allows leases again for a key that stayed exact.
  void Changed() { exact_until_ = SteadyTime{}; }

  /// Drops expired leases and returns idle tokens.
  void Tidy(SteadyTime now, const LimitNumbers& limit, TableStats& stats);
  /// Returns when Tidy is due next, unless something is granted before.
  [[nodiscard]] SteadyTime NextTidy(SteadyTime now, std::int64_t cap) const;
  /// Returns the last known remaining units of all nodes, advanced to `now`. Nothing if unknown, or
  /// already taken.
  std::optional<std::int64_t> TakeLastKnown(const LimitNumbers& limit, SteadyTime now);
  [[nodiscard]] bool HasReturns() const;
  /// Returns a request that only returns tokens.
  algo::lease::Request TakeReturns() { return {.reports = TakeReports()}; }

  [[nodiscard]] bool holds_any() const;
  /// Returns whether nothing is held or requested, and the last call was a while ago.
  [[nodiscard]] bool IsCold(SteadyTime now) const;
  /// Returns whether the state of the key can be dropped without loss.
  [[nodiscard]] bool Forgettable(SteadyTime now) const;

 private:
  [[nodiscard]] std::int64_t Tokens() const;
  [[nodiscard]] std::int64_t Spendable(SteadyTime now) const;
  [[nodiscard]] bool WantsMore() const;
  [[nodiscard]] Micros IdleTime() const;
  void SpendFromOldest(std::int64_t cost, SteadyTime now);
  void Describe(std::int64_t spendable, SteadyTime now, SpendResult& spent) const;
  std::array<algo::lease::Report, algo::lease::kReports> TakeReports();
  HeldLease* PlaceFor(const HeldLease& held);

  std::array<HeldLease, algo::lease::kReports> held_{};  ///< Oldest first.
  Demand demand_;
  std::int64_t last_grant_ = 0;
  std::int64_t denied_ = 0;  ///< Since the last request.
  std::int64_t epoch_ = 0;
  SteadyTime exact_until_{};
  std::int32_t in_flight_ = 0;
  bool reports_ = false;  ///< The unreported usage is worth its own message.

  /// As last reported by the store.
  bool is_known_ = false;  ///< And not taken by TakeLastKnown.
  std::int64_t left_ = 0;
  SteadyTime reported_at_{};
  SteadyTime retry_at_{};        ///< When a call of asked_cost_ may pass.
  std::int64_t asked_cost_ = 0;  ///< The lowest requested cost.
  SteadyTime reset_at_{};
  WallTime taken_at_{};
};

}  // namespace sluice::lease
