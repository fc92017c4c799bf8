#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <sluice/limit.h>

#include "algo/lease.h"
#include "base/clock.h"
#include "base/key.h"
#include "base/key_hash.h"
#include "base/metrics.h"
#include "denial/denial_table.h"

namespace sluice::lease {

struct TableOptions {
  /// How many keys are remembered; others are asked of the store, call by call.
  std::size_t max_keys = std::size_t{1} << 16;
  /// Nodes that share the store, this one included; see SetNodes.
  std::int64_t nodes = 1;
  /// By how much, and by which part of its time, a lease ends earlier here than in the store:
  /// clocks don't run alike, and `now` is over when a call is answered.
  Micros slack = std::chrono::milliseconds(5);
  std::int64_t slack_part = 1000;
};

enum class LeaseDecision : std::uint8_t {
  kAllowed,
  kDenied,
  kNeedsLease,  ///< Request a lease from the store, then spend again.
  kExact,       ///< Not leased: let the store decide this call.
};

/// The reason for an attempt to spend.
enum class SpendAttempt : std::uint8_t {
  kNew,
  kTry,       ///< The same, if the table can decide it; else it comes again, as new.
  kAgain,     ///< It waited for an answer to a request that was sent before it came.
  kAnswered,  ///< It was part of the request that is answered now: it passes, or is denied.
};

struct SpendResult {
  LeaseDecision decision = LeaseDecision::kExact;
  /// Worth a request now, so that the next calls need not wait.
  bool fetch_ahead = false;
  std::int64_t remaining = 0;      ///< Of all nodes, about.
  Micros retry_after{0};           ///< kDenied.
  std::int64_t still_missing = 0;  ///< Then, of a cost that is larger than what was asked for.
  Micros reset_after{0};           ///< About.
  WallTime taken_at{};             ///< For a receipt.
};

struct TableStats {
  std::uint64_t hits = 0;     ///< Calls allowed from memory, at once.
  std::uint64_t denials = 0;  ///< Calls denied from memory, at once.
  std::uint64_t fetches = 0;
  std::uint64_t granted = 0;  ///< Tokens, as are those below.
  std::uint64_t returned = 0;
  std::uint64_t recalled = 0;  ///< Returned because another node needed them.
  std::uint64_t expired = 0;
  /// Not spent in time although the key was scarce: what nodes could not admit for it, about.
  std::uint64_t missed = 0;
  std::int64_t outstanding = 0;  ///< Held now.
  std::size_t keys = 0;

  void operator+=(const TableStats& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = TableStats;
    constexpr std::string_view kHits = "rate_limiter_lease_hits_total";
    constexpr std::string_view kHitsHelp = "Checks decided from memory.";
    return std::tuple{
        Metric{kCounter, kHits, kHitsHelp, &S::denials, "allowed", "false"},
        Metric{kCounter, kHits, kHitsHelp, &S::hits, "allowed", "true"},
        Metric{kCounter, "rate_limiter_lease_fetches_total", "Requests for leases.", &S::fetches},
        Metric{kCounter, "rate_limiter_lease_granted_tokens_total", "Tokens leased.", &S::granted},
        Metric{kCounter, "rate_limiter_lease_returned_tokens_total",
               "Tokens returned because they were idle or expired.", &S::returned},
        Metric{kCounter, "rate_limiter_lease_recalled_tokens_total",
               "Tokens returned because another server needed them.", &S::recalled},
        Metric{kCounter, "rate_limiter_lease_expired_tokens_total",
               "Tokens of plentiful keys that expired unused.", &S::expired},
        Metric{kCounter, "rate_limiter_lease_missed_tokens_total",
               "Tokens of scarce keys that were held until they expired.", &S::missed},
        Metric{kGauge, "rate_limiter_lease_outstanding_tokens", "Tokens held now.",
               &S::outstanding},
        Metric{kGauge, "rate_limiter_lease_keys", "Keys with lease state.", &S::keys}};
  }
};
static_assert(HasAllMetrics<TableStats>);

/// The tokens that a node holds and spends by itself: the node's side of docs/leases.md. It
/// knows no store and sends nothing: its owner sends the requests that it makes, each at most once,
/// and passes it the replies.
///
///     SpendResult spent = table.Spend(key, limit, cost, now);
///     if (spent.decision == LeaseDecision::kNeedsLease) { request = table.MakeRequest(key, limit,
///     cost, cost, now); … } … table.Granted(key, limit, request, sent, now, grant);   // or
///     Unanswered(key, now) spent = table.Spend(key, limit, cost, now, SpendAttempt::kAnswered);
///
/// A crash forgets it all, which loses tokens and never gains any. Bounded; once made it allocates
/// only for keys longer than those before. Thread-safe: keys lie in shards, each with a lock that
/// is held for some dozens of instructions.
class LeaseTable {
 public:
  /// Denials of the store are remembered in `denials`, which must outlive the table.
  LeaseTable(const TableOptions& options, denial::DenialTable& denials);
  ~LeaseTable();
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  /// Decides a call of `cost` ≥ 1, at most the limit's cap. `series`: under which number the key is
  /// counted.
  SpendResult Spend(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now,
                    SpendAttempt attempt = SpendAttempt::kNew, std::uint32_t series = 0);

  /// Returns the result that Spend would have without the store; otherwise kNeedsLease or kExact. A
  /// remembered denial counts also if a real check of it is due.
  [[nodiscard]] SpendResult Peek(const Key& key, const Limit& limit, std::int64_t cost,
                                 SteadyTime now);
  /// Takes back a Spend of just now that allowed a call which does not pass after all.
  void Unspend(const Key& key, std::int64_t cost);

  /// A request to be sent now, for calls that wait for `waiting` tokens in all, the cheapest of
  /// them for `least`; or for the calls to come (0, 1). Granted or Unanswered must follow.
  algo::lease::Request MakeRequest(const Key& key, const Limit& limit, std::int64_t waiting,
                                   std::int64_t least, SteadyTime now);
  /// The answer to a request that was sent at `sent`. If the key is `exact`, the grant's tokens are
  /// for those who wait, and not in the table.
  void Granted(const Key& key, const Limit& limit, const algo::lease::Request& request,
               SteadyTime sent, SteadyTime now, const algo::lease::Grant& grant);
  /// There will be none, or it will not be looked at.
  void Unanswered(const Key& key, SteadyTime now);

  /// Where returns go. Called with a lock held: it must not block, nor call the table.
  using Sink =
      std::function<void(const Key& key, const Limit& limit, const algo::lease::Request& request)>;
  /// Another node needs tokens: gives back those that are not needed at once.
  void Recall(const Key& key, SteadyTime now, const Sink& send);
  /// The key was reset, granted to or refunded: what stayed exact may be leased.
  void Changed(const Key& key);
  /// Gives back what is idle and forgets what is over. To be called every few milliseconds, while
  /// anything is held.
  void Sweep(SteadyTime now, const Sink& send);
  [[nodiscard]] bool holds_any() const { return held_keys_.load() > 0; }

  /// Returns the last known remaining units of a key for all nodes, advanced to `now`: the start of
  /// a local fallback. Returned once after each reply of the store.
  std::optional<std::int64_t> TakeLastKnown(const Key& key, const Limit& limit, SteadyTime now);

  /// How many nodes share the store, from now on.
  void SetNodes(std::int64_t nodes) { nodes_.store(nodes, std::memory_order_relaxed); }

  [[nodiscard]] TableStats StatsApprox() const;
  /// The same by series. Looks at every key: not for every second.
  [[nodiscard]] std::vector<TableStats> StatsBySeriesApprox() const;

 private:
  struct Entry;
  class Shard;

  [[nodiscard]] Shard& ShardOf(const KeyHash& hash) const;
  [[nodiscard]] bool IsDenied(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now,
                              SpendAttempt attempt, SpendResult& spent) const;
  [[nodiscard]] std::int64_t nodes() const {
    return nodes_.load(std::memory_order_relaxed);  // Relaxed: any recent value will do.
  }

  const TableOptions options_;
  denial::DenialTable& denials_;
  std::atomic<std::int64_t> nodes_;
  const KeyHasher hasher_;
  const std::size_t shard_count_;
  const std::unique_ptr<Shard[]> shards_;
  std::atomic<std::size_t> held_keys_{0};
};

}  // namespace sluice::lease
