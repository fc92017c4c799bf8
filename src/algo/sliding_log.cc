#include "algo/sliding_log.h"

#include <algorithm>

namespace sluice::algo::sliding_log {
namespace {

// Entries beyond the limit come only from what is charged without asking. Past so many of them, a
// further one is merged with another, so that a key's memory stays bounded.
constexpr std::size_t kForcedEntries = 4096;

bool HoldsMostEntries(const LimitNumbers& limit, const State& state) {
  const std::size_t live = state.history->log.size() - static_cast<std::size_t>(state.previous);
  return live >= static_cast<std::size_t>(limit.cap) + kForcedEntries;
}

// An entry that is later than the state's own time was written before the clock was set back.
WallTime TimeOf(const State& state, const LogEntry& entry) { return std::min(entry.at, state.at); }

}  // namespace

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state) {
  state.at = now;
  if (state.history == nullptr) return ClockSeen::kForward;
  const auto& log = state.history->log;
  if (static_cast<std::size_t>(state.previous) == log.size()) return ClockSeen::kForward;
  ClockSeen clock = ClockSeen::kForward;
  const WallTime newest = log.back().at;
  if (now < newest) {
    if (newest - now <= kClockTolerance) {
      state.at = newest;
    } else {
      clock = ClockSeen::kSetBack;
    }
  }
  auto first = static_cast<std::size_t>(state.previous);
  while (first < log.size() && TimeOf(state, log[first]) + limit.window <= state.at) {
    state.value -= log[first].cost;
    ++first;
  }
  state.previous = static_cast<std::int64_t>(first);
  return clock;
}

std::int64_t Left(const LimitNumbers& limit, const State& state) { return limit.cap - state.value; }

Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, std::int64_t cost) {
  const auto& log = state.history->log;
  auto entry = static_cast<std::size_t>(state.previous);
  std::int64_t missing = cost - Left(limit, state) - log[entry].cost;
  while (missing > 0) missing -= log[++entry].cost;
  return WaitUntil(now, TimeOf(state, log[entry]) + limit.window);
}

WallTime FreshAt(const LimitNumbers& limit, const State& state) {
  if (state.value == 0) return WallTime{};
  return TimeOf(state, state.history->log.back()) + limit.window;
}

void Commit(State& state) {
  auto& log = state.history->log;
  const auto live = log.begin() + state.previous;
  if (live != log.end() && log.back().at > state.at) {
    // Merged, because Adjust looks for one entry of a moment.
    const auto moved = std::lower_bound(live, log.end(), state.at,
                                        [](const LogEntry& e, WallTime t) { return e.at < t; });
    moved->at = state.at;
    for (auto entry = moved + 1; entry != log.end(); ++entry) moved->cost += entry->cost;
    log.erase(moved + 1, log.end());
  }
  const auto over = static_cast<std::size_t>(state.previous);
  if (2 * over >= log.size()) {
    log.erase(log.begin(), log.begin() + state.previous);
    state.previous = 0;
  }
}

void Take(const LimitNumbers& limit, State& state, std::int64_t cost) {
  Commit(state);
  auto& log = state.history->log;
  const std::int64_t counted = std::min(cost, kMaxAmount - state.value);
  if (counted == 0) return;
  state.value += counted;
  const bool any_live = static_cast<std::size_t>(state.previous) < log.size();
  if (any_live && (log.back().at == state.at || HoldsMostEntries(limit, state))) {
    log.back().at = state.at;
    log.back().cost += counted;
  } else {
    log.push_back({state.at, counted});
  }
}

void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta) {
  Commit(state);
  auto& log = state.history->log;
  const auto live = log.begin() + state.previous;
  auto entry =
      std::lower_bound(live, log.end(), at, [](const LogEntry& e, WallTime t) { return e.at < t; });
  if (entry == log.end() || entry->at != at) {
    // What a grant paid for left no entry; what is charged on top of it must.
    const bool counts = delta > 0 && at <= state.at && state.at < at + limit.window;
    if (!counts) return;
    if (!HoldsMostEntries(limit, state)) {
      entry = log.insert(entry, {at, 0});
    } else if (entry == log.end()) {
      (--entry)->at = at;
    }
  }
  const std::int64_t change = std::clamp(delta, -entry->cost, kMaxAmount - state.value);
  entry->cost += change;
  state.value += change;
  if (entry->cost == 0) log.erase(entry);
}

}  // namespace sluice::algo::sliding_log
