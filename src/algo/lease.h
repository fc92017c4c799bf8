#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "algo/state.h"

/// The store's side of leases: tokens that nodes take in advance and spend by themselves.
/// docs/leases.md has the protocol, and why what is admitted by all nodes together stays within the
/// limit. Pure: a key's state and ledger, a node's request and the time go in; a state, a ledger
/// and a grant come out.
///
/// For token buckets, fixed windows and sliding window counters.
namespace sluice::algo::lease {

/// Names a lease to the store that gave it. Leases of one key that end together share a name.
struct Id {
  std::int64_t generation = 0;  ///< 0: no lease.
  WallTime expires{};

  friend bool operator==(const Id&, const Id&) = default;
};

/// Tokens that nodes hold until one moment, as far as they reported.
struct LedgerEntry {
  WallTime expires{};
  std::int64_t tokens = 0;

  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

/// The most entries that a key has. Ends are rounded up so that there are fewer; should there ever
/// be more, two become one that ends with the later.
inline constexpr std::size_t kMaxLedgerEntries = 12;

/// A store's record of a key's leases, in addition to its state.
struct Ledger {
  std::int64_t generation = 0;  ///< Tells this ledger from earlier ones of the same key.
  std::array<LedgerEntry, kMaxLedgerEntries>
      entries{};  ///< Soonest end first; those without tokens come last.

  // What grants are sized by. None of it matters for what is admitted at most.
  std::int64_t epoch = 0;
  std::int64_t holders = 0;  ///< Nodes that asked in this epoch.
  std::int64_t holders_before = 0;
  std::int64_t holders_once = 0;  ///< In epochs before, in sixteenths; decays.
  std::int64_t demand = 0;        ///< Of those that asked in this epoch, in tokens per second.
  std::int64_t demand_before = 0;
  std::int64_t denied = 0;
  std::int64_t denied_before = 0;
  WallTime recalled{};

  friend bool operator==(const Ledger&, const Ledger&) = default;
};

/// Tokens of a lease that were spent or are given back since its holder's last report.
struct Report {
  Id of;
  std::int64_t spent = 0;
  std::int64_t returned = 0;
};

/// How many leases a node reports in one request.
inline constexpr std::size_t kReports = 3;

struct Request {
  std::array<Report, kReports> reports{};
  std::int64_t waiting = 0;  ///< Tokens that calls wait for.
  std::int64_t least = 1;    ///< Fewer tokens than this help none of them.
  std::int64_t demand = 0;   ///< Of this node, in tokens per second.
  std::int64_t denied = 0;   ///< Calls denied since the last request.
  std::int64_t epoch = 0;    ///< The last one that this node received.
  std::int64_t nodes = 1;    ///< Alive, as far as the node knows.
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
  /// How long the lease lasts, or the key stays exact: from the moment at which the request was
  /// sent.
  Micros good_for{0};
  /// The key is plentiful: unneeded tokens may lapse, and need not be given back.
  bool lapses = false;
  /// Nothing is leased: `tokens` are for the calls that wait, and count as spent.
  bool exact = false;
  /// Other nodes should be asked to give back tokens that they don't need at once.
  bool recall = false;
  std::int64_t left = 0;  ///< In the store after this.
  Micros retry_after{0};  ///< Until `least` more will be there, without other callers.
  Micros reset_after{0};  ///< Until the key is as if never used.
  WallTime taken_at{};    ///< For receipts: windows are known by where they begin.
  std::int64_t epoch = 0;
};

/// The constants of the policy.
inline constexpr Micros kLongLease = std::chrono::seconds(10);
inline constexpr Micros kShortLease = std::chrono::milliseconds(200);
inline constexpr Micros kEpoch = std::chrono::milliseconds(500);
/// How long a key stays exact before a lease may be asked for again; less if only its window ends.
inline constexpr Micros kExactFor = std::chrono::seconds(1);
inline constexpr std::int64_t kSmallestLeased = 50;

/// All that nodes may still hold.
std::int64_t Outstanding(const Ledger& ledger);

/// As algo::Advance, but a bucket is refilled only up to its cap less what is outstanding, and what
/// has expired is outstanding no more. Every operation on a key with leases begins with this.
ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger);

/// As algo::WaitFor and algo::FreshAt.
Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, const Ledger& ledger,
               std::int64_t cost);
WallTime FreshAt(const LimitNumbers& limit, const State& state, const Ledger& ledger);

/// As if never used, but for what is outstanding: that can still be spent.
void Reset(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger);

/// The functions from here on take what was advanced to `now`.

/// Notes what was spent, and takes back what is returned. What has expired, or is of another ledger
/// or window, is ignored.
void ApplyReport(const LimitNumbers& limit, State& state, Ledger& ledger, const Report& report);

/// Applies the reports, then grants as many tokens as the policy allows.
Grant Fetch(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger,
            const Request& request);

}  // namespace sluice::algo::lease
