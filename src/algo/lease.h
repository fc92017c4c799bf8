#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "algo/state.h"

/// The store's side of leases: tokens that nodes take in advance and spend on their own.
/// docs/leases.md has the protocol and the proof that all nodes together stay within the limit.
/// Pure functions from (state, ledger, request, now) to (state, ledger, grant).
///
/// For token buckets, fixed windows and sliding window counters.
namespace sluice::algo::lease {

/// Identifies a lease to its store. Leases of one key with the same expiry share an id.
struct Id {
  std::int64_t generation = 0;  ///< 0: no lease.
  WallTime expires{};

  friend bool operator==(const Id&, const Id&) = default;
};

/// Outstanding tokens with the same expiry.
struct LedgerEntry {
  WallTime expires{};
  std::int64_t tokens = 0;

  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

/// Maximum number of entries of a key. Expiries are rounded up to keep entries few; if there are
/// too many, two are merged with the later expiry.
inline constexpr std::size_t kMaxLedgerEntries = 12;

/// A store's record of a key's leases, in addition to its state.
struct Ledger {
  std::int64_t generation = 0;  ///< Distinguishes this ledger from earlier ones of the same key.
  std::array<LedgerEntry, kMaxLedgerEntries>
      entries{};  ///< Sorted by expiry; entries without tokens are last.

  // Inputs for the size of grants. They don't affect the maximum that is admitted.
  std::int64_t epoch = 0;
  std::int64_t holders = 0;  ///< Nodes that sent requests in this epoch.
  std::int64_t holders_before = 0;
  std::int64_t holders_once = 0;  ///< Of earlier epochs, in sixteenths; decays.
  std::int64_t demand = 0;        ///< Of the holders in this epoch, in tokens per second.
  std::int64_t demand_before = 0;
  std::int64_t denied = 0;
  std::int64_t denied_before = 0;
  WallTime recalled{};

  friend bool operator==(const Ledger&, const Ledger&) = default;
};

/// Tokens of a lease that were spent or returned since the last report.
struct Report {
  Id of;
  std::int64_t spent = 0;
  std::int64_t returned = 0;
};

/// Number of leases in one request.
inline constexpr std::size_t kReports = 3;

struct Request {
  std::array<Report, kReports> reports{};
  std::int64_t waiting = 0;  ///< Tokens that calls are waiting for.
  std::int64_t least = 1;    ///< The smallest useful number of tokens.
  std::int64_t demand = 0;   ///< Of this node, in tokens per second.
  std::int64_t denied = 0;   ///< Calls denied since the last request.
  std::int64_t epoch = 0;    ///< The last epoch that this node received.
  std::int64_t nodes = 1;    ///< Live nodes, as known to this node.
};

/// When tokens may be spent: Δ µs after the grant, ready + ⌊(fraction + num·Δ) / den⌋ of them.
/// Tokens after the first `ready` are refill that has not arrived yet.
struct Schedule {
  std::int64_t ready = 0;
  std::int64_t fraction = 0;
  std::int64_t num = 0;
  std::int64_t den = 1;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

struct Grant {
  std::int64_t tokens = 0;
  Schedule schedule;
  Id id;
  /// Duration of the lease, or of the exact phase, from the sending of the request.
  Micros good_for{0};
  /// The key is plentiful: unused tokens may expire instead of being returned.
  bool lapses = false;
  /// Nothing is leased: `tokens` are for the waiting calls and count as spent.
  bool exact = false;
  /// Other nodes should be asked to return tokens that they don't need immediately.
  bool recall = false;
  std::int64_t left = 0;  ///< In the store after this.
  Micros retry_after{0};  ///< Until `least` more are available, without other callers.
  Micros reset_after{0};  ///< Until the key is fresh.
  WallTime taken_at{};    ///< For receipts: the start of the window.
  std::int64_t epoch = 0;
};

/// The constants of the policy.
inline constexpr Micros kLongLease = std::chrono::seconds(10);
inline constexpr Micros kShortLease = std::chrono::milliseconds(200);
inline constexpr Micros kEpoch = std::chrono::milliseconds(500);
/// Duration for which a key stays exact before it may be leased again; less if only its window
/// ends.
inline constexpr Micros kExactFor = std::chrono::seconds(1);
inline constexpr std::int64_t kSmallestLeased = 50;

/// Returns the number of tokens that nodes may still hold.
std::int64_t Outstanding(const Ledger& ledger);

/// Like algo::Advance, but refills a bucket only up to its cap minus the outstanding tokens, and
/// drops expired entries. Every operation on a key with leases begins with this.
ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger);

/// Like algo::WaitFor and algo::FreshAt.
Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, const Ledger& ledger,
               std::int64_t cost);
WallTime FreshAt(const LimitNumbers& limit, const State& state, const Ledger& ledger);

/// Makes the state fresh, except for outstanding tokens, which can still be spent.
void Reset(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger);

/// Precondition of the functions below: state and ledger are advanced to `now`.

/// Records spent and returned tokens. Ignores reports that have expired or belong to another ledger
/// or window.
void ApplyReport(const LimitNumbers& limit, State& state, Ledger& ledger, const Report& report);

/// Applies the reports, then grants as many tokens as the policy allows.
Grant Fetch(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger,
            const Request& request);

}  // namespace sluice::algo::lease
