#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "algo/lease.h"
#include "base/clock.h"
#include "lease/demand.h"
#include "lease/held.h"
#include "lease/lease_table.h"

namespace sluice::lease {

/// What a node knows and holds of one key, and how it spends it. Not thread-safe.
class KeyLeases {
 public:
  Spent Spend(std::int64_t cost, SteadyTime now, Turn turn, TableStats& stats);

  [[nodiscard]] Spent Look(std::int64_t cost, SteadyTime now) const;
  void Unspend(std::int64_t cost, TableStats& stats);

  algo::lease::Request Ask(std::int64_t waiting, std::int64_t least, std::int64_t nodes,
                           SteadyTime now, TableStats& stats);
  /// `least`: as was asked for.
  void Granted(std::int64_t least, SteadyTime sent, SteadyTime now, Micros slack,
               const algo::lease::Grant& grant, TableStats& stats);
  void Unanswered() { --in_flight_; }

  /// Gives back all but what is needed in the next moments.
  void Recall(SteadyTime now, TableStats& stats);
  /// Gives back all.
  void Surrender(TableStats& stats);
  /// What was denied may pass, and what stayed exact may be leased.
  void Changed() { denied_until_ = exact_until_ = SteadyTime{}; }

  /// Lets go what is over or idle.
  void Tidy(SteadyTime now, const LimitNumbers& limit, TableStats& stats);
  /// When Tidy may next find something, if nothing is granted meanwhile.
  [[nodiscard]] SteadyTime NextTidy(SteadyTime now, std::int64_t cap) const;
  /// What was last known to be left for all nodes, brought up to `now`. Nothing if it never was, or
  /// was asked for since.
  std::optional<std::int64_t> TakeLastKnown(const LimitNumbers& limit, SteadyTime now);
  [[nodiscard]] bool HasReturns() const;
  /// What is to be returned, in a request that asks for nothing.
  algo::lease::Request TakeReturns() { return {.reports = TakeReports()}; }

  [[nodiscard]] bool holds_any() const;
  /// Nothing is known of the key that would be missed.
  [[nodiscard]] bool Forgettable(SteadyTime now) const;

 private:
  [[nodiscard]] std::int64_t Tokens() const;
  [[nodiscard]] std::int64_t Spendable(SteadyTime now) const;
  [[nodiscard]] bool WantsMore(SteadyTime now) const;
  [[nodiscard]] Micros IdleTime() const;
  void Deny(SteadyTime sent, Micros retry_after);
  void SpendFromOldest(std::int64_t cost, SteadyTime now);
  void Describe(std::int64_t spendable, SteadyTime now, Spent& spent) const;
  std::array<algo::lease::Report, algo::lease::kReports> TakeReports();
  Held* PlaceFor(const Held& held);

  std::array<Held, algo::lease::kReports> held_{};  ///< Oldest first.
  Demand demand_;
  std::int64_t last_grant_ = 0;
  std::int64_t denied_ = 0;  ///< Since the last request.
  std::int64_t epoch_ = 0;
  SteadyTime denied_until_{};  ///< Costs from denied_cost_ on; then the store is asked again.
  std::int64_t denied_cost_ = 0;
  Micros ask_again_{0};  ///< How long a denial is believed that lasts long.
  SteadyTime exact_until_{};
  std::int32_t in_flight_ = 0;
  bool tell_ = false;  ///< What is noted is worth a message of its own.

  /// As the store last told.
  bool is_told_ = false;  ///< And nobody took what was last known.
  std::int64_t left_ = 0;
  SteadyTime told_at_{};
  SteadyTime retry_at_{};
  SteadyTime reset_at_{};
  WallTime taken_at_{};
};

}  // namespace sluice::lease
