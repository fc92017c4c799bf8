#pragma once

#include <algorithm>
#include <cstdint>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "algo/summed_tree.h"

namespace sluice::algo {

/// One call in a sliding window log.
struct LogEntry {
  WallTime at;
  std::int64_t cost;

  [[nodiscard]] EntryKey key() const { return {.time = at.time_since_epoch().count()}; }
};

/// One holder of a concurrency limit.
struct Slot {
  std::uint64_t id;
  WallTime expires;
  std::int64_t cost;

  [[nodiscard]] EntryKey key() const { return {expires.time_since_epoch().count(), id}; }
};

/// Index entry: the expiry of the slot with this id.
struct SlotExpiry {
  std::uint64_t id;
  WallTime expires;
  // NOLINTNEXTLINE(readability-identifier-naming): a field of other entries.
  static constexpr std::int64_t cost = 0;

  [[nodiscard]] EntryKey key() const { return {.id = id}; }
};

/// The entries of the sliding log and of concurrency, oldest first.
struct History {
  SummedTree<LogEntry> log;
  SummedTree<Slot> slots;
  SummedTree<SlotExpiry> expiries;  ///< Index of all slots by id.
};

/// The state of one key under one limit. The meaning of the fields depends on the algorithm; all
/// functions below take a state with the limit that it was written under.
///
/// A plain value. Copies share `history` (not owned): all functions may read it, and only those
/// documented with "Commits" write it.
struct State {
  /// Buckets, log and concurrency: the time of this state. Windows: the start of the window.
  WallTime at{};
  /// Buckets: remaining, in 1/rate_den tokens. Windows: used in this window. Log and concurrency:
  /// sum of the live entries.
  std::int64_t value = 0;
  /// Sliding counter: used in the previous window. Log and concurrency: entries before this time
  /// (µs since the epoch) have expired, though some may still be in the history.
  std::int64_t previous = 0;
  /// Remaining units of grants: spent first, never refilled.
  std::int64_t grant = 0;
  std::int64_t expiring_grant = 0;  ///< The part of `grant` that ends at `grant_expires`.
  WallTime grant_expires{};         ///< Zero if no part does.
  History* history = nullptr;
};

/// How far `now` may be behind a key's own time before the clock counts as set back. Threads that
/// read the clock and then race for a key differ by less; treating that as a clock set back would
/// refill the difference twice.
inline constexpr Micros kClockTolerance = std::chrono::seconds(1);

/// Returns the state of a key that was never used.
State Fresh(const LimitNumbers& limit, WallTime now);

enum class ClockSeen : std::uint8_t {
  kForward,
  kSetBack,  ///< The state continues from `now` and must be written even if nothing is consumed.
};

/// Advances a state to `now`: refills, starts new windows, excludes expired entries.
ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state);

/// Precondition of the functions below: the state is advanced to `now`.

/// Returns the remaining units without grants; negative in debt.
std::int64_t Left(const LimitNumbers& limit, WallTime now, const State& state);

/// Returns the wait until `cost` (more than Left, at most the cap) is available without other
/// callers.
Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, std::int64_t cost);

/// Returns when the key is fresh, apart from grants.
WallTime FreshAt(const LimitNumbers& limit, const State& state);

/// Returns the time from an exhausted to a fresh key. Sliding counter: until it may be exhausted
/// again.
Micros RefillTime(const LimitNumbers& limit);

/// Leaky bucket: returns how long a call admitted now must wait for those before it. Others: zero.
Micros DelayOf(const LimitNumbers& limit, const State& state);

/// Consumes `cost`, below zero if necessary. Commits.
void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot);

/// Consumes `delta` more (or refunds −delta) in the window or entry of `at`, the state's `at` right
/// after Take. No effect if that has expired. Not for concurrency. Commits.
void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta);

/// Returns the time from which an Adjust for `at` has no effect; kNever if there is none.
WallTime AdjustableUntil(const LimitNumbers& limit, WallTime at);

/// Removes the entries that Advance excluded from the history. Commits.
void Commit(const LimitNumbers& limit, State& state);

/// Concurrency: whether a slot is held, its release and its renewal. The latter two commit.
bool HoldsSlot(const State& state, std::uint64_t slot);
bool ReleaseSlot(const LimitNumbers& limit, State& state, std::uint64_t slot);
bool RenewSlot(const LimitNumbers& limit, State& state, std::uint64_t slot);

/// Converts a state to other numbers of the same algorithm: buckets keep the remaining units
/// (clamped to the new cap), windows keep the used ones. Precondition: the state is not advanced.
/// Returns what Advance would.
ClockSeen Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now, State& state);

/// Returns the wait from `now` until `moment`, at most kMaxWait.
constexpr Micros WaitUntil(WallTime now, WallTime moment) {
  if (moment.time_since_epoch() > kMaxWait) return kMaxWait;
  return moment > now ? moment - now : Micros{0};
}

/// A time that no clock reaches.
inline constexpr WallTime kNever{kMaxWait + Micros{1}};

/// Forgets a grant that has expired. Comes before everything else that is done with a state.
constexpr void ExpireGrant(WallTime now, State& state) {
  if (state.expiring_grant == 0 || now < state.grant_expires) return;
  state.grant -= state.expiring_grant;
  state.expiring_grant = 0;
  state.grant_expires = {};
}

/// Adds to the grant, until `expires` or, if that is zero, for ever. A key has one grant that
/// expires: two of them become one, which ends with the earlier.
constexpr void AddGrant(State& state, std::int64_t amount, WallTime expires) {
  amount = std::min(amount, kMaxAmount - state.grant);
  state.grant += amount;
  if (expires == WallTime{} || amount == 0) return;
  if (state.expiring_grant == 0 || expires < state.grant_expires) state.grant_expires = expires;
  state.expiring_grant += amount;
}

/// Takes of the grant, first of the part that expires. Returns when that does; zero: none was
/// taken of it.
constexpr WallTime TakeGrant(State& state, std::int64_t amount) {
  const std::int64_t expiring = std::min(amount, state.expiring_grant);
  const WallTime expires = expiring > 0 ? state.grant_expires : WallTime{};
  state.grant -= amount;
  state.expiring_grant -= expiring;
  if (state.expiring_grant == 0) state.grant_expires = {};
  return expires;
}

/// When the grant holds no information any more; kNever while a part of it does not expire.
constexpr WallTime GrantEnd(const State& state) {
  return state.grant > state.expiring_grant ? kNever : state.grant_expires;
}

constexpr WallTime ClampTime(WallTime t) {
  if (t < WallTime{}) return WallTime{};
  return t > kMaxTime ? kMaxTime : t;
}

}  // namespace sluice::algo
