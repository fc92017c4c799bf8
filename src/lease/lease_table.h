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
#include "lease/key_demand.h"

namespace sluice::lease {

struct TableOptions {
  /// Maximum number of keys; the store decides calls of others.
  std::size_t max_keys = std::size_t{1} << 16;
  /// Nodes that share the store, this one included; see SetNodes.
  std::int64_t nodes = 1;
  /// Calls of a key in a row (KeyDemandSketch) that the store decides before a lease is fetched: a
  /// lease costs the store as much as several checks.
  std::uint32_t calls_before_lease = 3;
  /// A lease ends earlier on the node than in the store, by this much and by 1/slack_part of its
  /// duration, because clocks differ and `now` is in the past when a call is answered.
  Micros slack = std::chrono::milliseconds(5);
  std::int64_t slack_part = 1000;
};

enum class LeaseDecision : std::uint8_t {
  kAllowed,
  kDenied,
  kNeedsLease,  ///< Request a lease from the store, then call Spend again.
  kExact,       ///< Not leased: let the store decide this call.
};

/// The reason for a call of Spend.
enum class SpendAttempt : std::uint8_t {
  kNew,
  kTry,       ///< A new call, if the table can decide it; otherwise it comes again as kNew.
  kAgain,     ///< It waited for a request that was sent before it came.
  kAnswered,  ///< It was part of the request that is answered now; it is allowed or denied.
};

struct SpendResult {
  LeaseDecision decision = LeaseDecision::kExact;
  /// Request a lease now, so that the next calls need not wait.
  bool fetch_ahead = false;
  std::int64_t remaining = 0;      ///< Of all nodes, approximately.
  Micros retry_after{0};           ///< kDenied.
  std::int64_t still_missing = 0;  ///< After retry_after, if the cost exceeds the requested one.
  Micros reset_after{0};           ///< Approximate.
  WallTime taken_at{};             ///< For the receipt.
};

struct TableStats {
  std::uint64_t hits = 0;     ///< Calls allowed from memory, without waiting.
  std::uint64_t denials = 0;  ///< Calls denied from memory, without waiting.
  std::uint64_t fetches = 0;
  std::uint64_t granted = 0;  ///< In tokens, like those below.
  std::uint64_t returned = 0;
  std::uint64_t recalled = 0;  ///< Returned because another node requested them.
  std::uint64_t expired = 0;
  /// Not spent in time although the key was scarce; approximates the deficit.
  std::uint64_t missed = 0;
  std::int64_t outstanding = 0;  ///< Held by this node.
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

/// The leased tokens of a node: the node's side of docs/leases.md. Performs no I/O: the owner sends
/// the requests that it makes, each at most once, and passes it the replies.
///
///     SpendResult spent = table.Spend(key, limit, cost, now);
///     if (spent.decision == LeaseDecision::kNeedsLease) { request = table.MakeRequest(key, limit,
///     cost, cost, now); … } … table.Granted(key, limit, request, sent, now, grant);   // or
///     Unanswered(key, now) spent = table.Spend(key, limit, cost, now, SpendAttempt::kAnswered);
///
/// A crash loses tokens and never creates any. Bounded; after construction it allocates only for
/// longer keys. Thread-safe: keys are in shards, each with a lock that is held for some dozens of
/// instructions.
class LeaseTable {
 public:
  /// Remembers the store's denials in `denials`, which must outlive the table.
  LeaseTable(const TableOptions& options, denial::DenialTable& denials);
  ~LeaseTable();
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  /// Decides a call. `cost` is between 1 and the limit's cap; `series` is the index of the key's
  /// metrics.
  SpendResult Spend(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now,
                    SpendAttempt attempt = SpendAttempt::kNew, std::uint32_t series = 0);

  /// Counts a call of a key that the store decides, together with others. Returns whether a lease
  /// should be fetched for future calls.
  bool CountDemand(const Key& key, const Limit& limit, SteadyTime now);

  /// Returns the result of Spend if the table can decide it, else kNeedsLease or kExact; spends
  /// nothing. A remembered denial counts even if a real check is due.
  [[nodiscard]] SpendResult Peek(const Key& key, const Limit& limit, std::int64_t cost,
                                 SteadyTime now);
  /// Undoes a Spend of this turn that allowed a call which does not pass after all.
  void Unspend(const Key& key, std::int64_t cost);

  /// Returns a request to be sent now, for calls that wait for `waiting` tokens in total and the
  /// cheapest for `least`, or for future calls (0, 1). Granted or Unanswered must follow.
  algo::lease::Request MakeRequest(const Key& key, const Limit& limit, std::int64_t waiting,
                                   std::int64_t least, SteadyTime now);
  /// Takes the reply to a request that was sent at `sent`. If the grant is `exact`, its tokens are
  /// for the waiting calls and are not added to the table.
  void Granted(const Key& key, const Limit& limit, const algo::lease::Request& request,
               SteadyTime sent, SteadyTime now, const algo::lease::Grant& grant);
  /// Records that there is no reply, or that it is ignored.
  void Unanswered(const Key& key, SteadyTime now);

  /// Sends a return. Called with a lock held: must not block, nor call the table.
  using Sink =
      std::function<void(const Key& key, const Limit& limit, const algo::lease::Request& request)>;
  /// Returns tokens that are not needed immediately, because another node requested them.
  void Recall(const Key& key, SteadyTime now, const Sink& send);
  /// Returns all tokens, and lets the store decide all calls from now on: the process shuts down.
  void EndLeasing(const Sink& send);
  /// Allows leases again after the key was reset, granted to or refunded.
  void Changed(const Key& key);
  /// Returns idle tokens and drops expired leases. Must be called every few milliseconds while
  /// holds_any().
  void Sweep(SteadyTime now, const Sink& send);
  [[nodiscard]] bool holds_any() const { return held_keys_.load() > 0; }

  /// Returns the last known remaining units of a key for all nodes, advanced to `now`, to start a
  /// local fallback. At most once per reply of the store.
  std::optional<std::int64_t> TakeLastKnown(const Key& key, const Limit& limit, SteadyTime now);

  /// Sets the number of nodes that share the store.
  void SetNodes(std::int64_t nodes) { nodes_.store(nodes, std::memory_order_relaxed); }

  [[nodiscard]] TableStats StatsApprox() const;
  /// Returns the statistics by series. Visits every key: don't call it every second.
  [[nodiscard]] std::vector<TableStats> StatsBySeriesApprox() const;

 private:
  struct Entry;
  class Shard;

  [[nodiscard]] Shard& ShardOf(const KeyHash& hash) const;
  [[nodiscard]] bool MayLease(const Limit& limit) const;
  [[nodiscard]] bool InDemand(const KeyHash& hash, SteadyTime now) {
    return options_.calls_before_lease == 0 ||
           demand_.Count(hash, now) > options_.calls_before_lease;
  }
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
  std::atomic<bool> ended_{false};
  KeyDemandSketch demand_;  ///< Of cold keys.
};

}  // namespace sluice::lease
