#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <sluice/limit.h>

#include "algo/lease.h"
#include "base/clock.h"
#include "base/key.h"
#include "base/key_hash.h"

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

enum class Local : std::uint8_t {
  kAllowed,
  kDenied,
  kAsk,    ///< Only the store can tell: ask for a lease, and then again here.
  kExact,  ///< Not leased: let the store decide this call.
};

/// Why a call is brought before the table.
enum class Turn : std::uint8_t {
  kNew,
  kTry,       ///< The same, if the table can tell; else it comes again, as new.
  kAgain,     ///< It waited for an answer to a request that was sent before it came.
  kAnswered,  ///< It was part of the request that is answered now: it passes, or is denied.
};

struct Spent {
  Local local = Local::kExact;
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

  TableStats& operator+=(const TableStats& other);
};

/// What a node holds of keys' tokens, and spends by itself: the node's side of docs/leases.md. It
/// knows no store and sends nothing: who owns it sends the requests that it makes, each at most
/// once, and tells it the answers.
///
///     Spent spent = table.Spend(key, limit, cost, now);
///     if (spent.local == Local::kAsk) { request = table.Ask(key, limit, cost, cost, now); … }
///     …
///     table.Granted(key, request, sent, now, grant);   // or Unanswered(key)
///     spent = table.Spend(key, limit, cost, now, Turn::kAnswered);
///
/// A crash forgets it all, which loses tokens and never gains any. Bounded; once made it allocates
/// only for keys longer than those before. Thread-safe: keys lie in shards, each with a lock that
/// is held for some dozens of instructions.
class LeaseTable {
 public:
  explicit LeaseTable(const TableOptions& options);
  ~LeaseTable();
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  /// Decides a call of `cost` ≥ 1, at most the limit's cap. `series`: under which number the key is
  /// counted.
  Spent Spend(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now,
              Turn turn = Turn::kNew, std::uint32_t series = 0);

  /// What Spend would say, if it needs no store for it; else kAsk or kExact.
  [[nodiscard]] Spent Look(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now);
  /// Takes back a Spend of just now that allowed a call which does not pass after all.
  void Unspend(const Key& key, std::int64_t cost);

  /// A request to be sent now, for calls that wait for `waiting` tokens in all, the cheapest of
  /// them for `least`; or for the calls to come (0, 1). Granted or Unanswered must follow.
  algo::lease::Request Ask(const Key& key, const Limit& limit, std::int64_t waiting,
                           std::int64_t least, SteadyTime now);
  /// The answer to a request that was sent at `sent`. If the key is `exact`, the grant's tokens are
  /// for those who wait, and not in the table.
  void Granted(const Key& key, const algo::lease::Request& request, SteadyTime sent, SteadyTime now,
               const algo::lease::Grant& grant);
  /// There will be none, or it will not be looked at.
  void Unanswered(const Key& key);

  /// Where returns go. Called with a lock held: it must not block, nor call the table.
  using Sink =
      std::function<void(const Key& key, const Limit& limit, const algo::lease::Request& request)>;
  /// Another node needs tokens: gives back what is not needed at once.
  void Recall(const Key& key, SteadyTime now, const Sink& send);
  /// The key was reset, granted to, refunded or given another limit: what was denied may pass.
  void Changed(const Key& key);
  /// Gives back what is idle and forgets what is over. To be called every few milliseconds, while
  /// anything is held.
  void Sweep(SteadyTime now, const Sink& send);
  [[nodiscard]] bool holds_any() const { return held_keys_.load() > 0; }

  /// What was last known to be left of a key for all nodes, brought up to `now`: for whoever goes
  /// on without the store. Told once after each answer of the store.
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
  [[nodiscard]] std::int64_t nodes() const {
    return nodes_.load(std::memory_order_relaxed);  // Relaxed: any recent value will do.
  }

  const TableOptions options_;
  std::atomic<std::int64_t> nodes_;
  const KeyHasher hasher_;
  const std::size_t shard_count_;
  const std::unique_ptr<Shard[]> shards_;
  std::atomic<std::size_t> held_keys_{0};
};

}  // namespace sluice::lease
