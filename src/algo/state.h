#pragma once

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

/// Where the slot of an id is found.
struct SlotExpiry {
  std::uint64_t id;
  WallTime expires;
  // NOLINTNEXTLINE(readability-identifier-naming): other entries have a field of this name.
  static constexpr std::int64_t cost = 0;

  [[nodiscard]] EntryKey key() const { return {.id = id}; }
};

/// The calls that the sliding log and concurrency remember, oldest first.
struct History {
  SummedTree<LogEntry> log;
  SummedTree<Slot> slots;
  SummedTree<SlotExpiry> expiries;  ///< Of all slots, by id.
};

/// The state of one key under one limit. The algorithm of the limit gives the fields their meaning;
/// all functions below take a state together with the limit that it was written under.
///
/// A state is a plain value. `history` is shared by its copies: it is read by all functions and
/// written only by those that say "commits".
struct State {
  /// Buckets, log and concurrency: when this was right. Windows: where the window begins.
  WallTime at{};
  /// Buckets: what is left, in 1/rate_den tokens. Windows: used in this window. Log and
  /// concurrency: used by the live part of the history.
  std::int64_t value = 0;
  /// Sliding counter: used in the window before. Log and concurrency: entries before this moment
  /// (µs since 1970) are over, though some may still be there.
  std::int64_t previous = 0;
  /// Units left of grants: spent first, never refilled.
  std::int64_t grant = 0;
  History* history = nullptr;
};

/// How far behind a key's own time a clock may be before it counts as set back. Threads that read
/// the clock and then race to a key are never further apart; treating them as a clock that was set
/// back would refill the difference twice.
inline constexpr Micros kClockTolerance = std::chrono::seconds(1);

/// As if never used.
State Fresh(const LimitNumbers& limit, WallTime now);

enum class ClockSeen : std::uint8_t {
  kForward,
  kSetBack,  ///< The state went on from `now`, and must be written even if nothing is taken.
};

/// Brings a state to `now`: refills, rolls windows, leaves out what is over.
ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state);

/// The functions from here on take states that were advanced to `now`.

/// Returns the units left without grants; below zero in debt.
std::int64_t Left(const LimitNumbers& limit, WallTime now, const State& state);

/// Returns the wait until `cost` (more than Left, at most the cap) can be taken, if no other caller
/// takes any.
Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, std::int64_t cost);

/// The first moment at which the key is as if never used, grants apart.
WallTime FreshAt(const LimitNumbers& limit, const State& state);

/// How long a key of which everything was taken needs until it is as if never used. Of a sliding
/// counter: until it may be exhausted again.
Micros RefillTime(const LimitNumbers& limit);

/// Leaky bucket: how long a call that is let in now must wait for those before it. Else zero.
Micros DelayOf(const LimitNumbers& limit, const State& state);

/// Takes `cost`, below zero if need be. Commits.
void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot);

/// Takes `delta` more (or gives −delta back) where it was taken, which `at` names: the state's `at`
/// right after Take. Nothing happens if that no longer counts. Not for concurrency. Commits.
void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta);

/// The moment from which on an Adjust of what was taken `at` changes nothing; kNever if there is
/// none.
WallTime AdjustableUntil(const LimitNumbers& limit, WallTime at);

/// Writes into the history what Advance found. Commits.
void Commit(const LimitNumbers& limit, State& state);

/// Concurrency: whether the slot is held; freeing it; letting it live on. The latter two commit.
bool HoldsSlot(const State& state, std::uint64_t slot);
bool ReleaseSlot(const LimitNumbers& limit, State& state, std::uint64_t slot);
bool RenewSlot(const LimitNumbers& limit, State& state, std::uint64_t slot);

/// Goes on under other numbers of the same algorithm: buckets keep what is left (clamped to the
/// new cap), windows keep what was used. Takes a state that was not advanced; tells of the clock
/// what Advance would.
ClockSeen Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now, State& state);

/// The wait from `now` until `moment`; times past what is representable are kMaxWait.
constexpr Micros WaitUntil(WallTime now, WallTime moment) {
  if (moment.time_since_epoch() > kMaxWait) return kMaxWait;
  return moment > now ? moment - now : Micros{0};
}

/// A moment that no clock reaches.
inline constexpr WallTime kNever{kMaxWait + Micros{1}};

constexpr WallTime ClampTime(WallTime t) {
  if (t < WallTime{}) return WallTime{};
  return t > kMaxTime ? kMaxTime : t;
}

}  // namespace sluice::algo
