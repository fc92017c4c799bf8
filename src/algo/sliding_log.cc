#include "algo/sliding_log.h"

#include <algorithm>

#include "algo/history.h"

namespace sluice::algo::sliding_log {
namespace {

// Maximum number of entries beyond the limit, which come from charges only. Further ones are
// merged, so that a key's memory is bounded.
constexpr std::size_t kForcedEntries = 4096;

bool AnyLive(const State& state) {
  const auto& log = state.history->log;
  return !log.empty() && MicrosOf(log.back().at) >= state.previous;
}

bool HoldsMostEntries(const LimitNumbers& limit, const State& state) {
  const auto& log = state.history->log;
  const auto most = static_cast<std::size_t>(limit.cap) + kForcedEntries;
  return log.size() >= most && log.size() - log.Before(state.previous).count >= most;
}

// An entry that is later than the state's own time was written before the clock was set back.
WallTime TimeOf(const State& state, const LogEntry& entry) { return std::min(entry.at, state.at); }

void EraseOver(State& state, std::size_t most) {
  auto& log = state.history->log;
  log.EraseBefore(state.previous, most);
  if (log.empty() || MicrosOf(log.FirstFrom({})->at) >= state.previous) state.previous = 0;
}

// Expired entries must come before live ones.
void MakeRoomAt(State& state, WallTime at) {
  if (MicrosOf(at) >= state.previous) return;
  EraseOver(state, state.history->log.size());
  state.previous = 0;
}

}  // namespace

ClockSeen Operations::Advance(const LimitNumbers& limit, WallTime now, State& state) {
  state.at = now;
  if (state.history == nullptr) return ClockSeen::kForward;
  if (!AnyLive(state)) {
    state.value = 0;
    return ClockSeen::kForward;
  }
  const auto& log = state.history->log;
  ClockSeen clock = ClockSeen::kForward;
  const WallTime newest = log.back().at;
  if (now < newest) {
    if (newest - now <= kClockTolerance) {
      state.at = newest;
    } else {
      clock = ClockSeen::kSetBack;
    }
  }
  state.previous = std::max(state.previous, MicrosOf(state.at - limit.window) + 1);
  state.value = log.total() - log.Before(state.previous).cost;
  return clock;
}

std::int64_t Operations::Left(const LimitNumbers& limit, WallTime /*now*/, const State& state) {
  return limit.cap - state.value;
}

Micros Operations::WaitFor(const LimitNumbers& limit, WallTime now, const State& state,
                           std::int64_t cost) {
  const auto& log = state.history->log;
  const std::int64_t over = log.Before(state.previous).cost;
  const LogEntry* const entry = log.WhereCostReaches(over + cost - Left(limit, now, state));
  return WaitUntil(now, TimeOf(state, *entry) + limit.window);
}

WallTime Operations::FreshAt(const LimitNumbers& limit, const State& state) {
  if (state.value == 0) return WallTime{};
  return TimeOf(state, state.history->log.back()) + limit.window;
}

void Operations::Commit(const LimitNumbers& /*limit*/, State& state) {
  auto& log = state.history->log;
  if (AnyLive(state) && log.back().at > state.at) {
    // Merged, because Adjust expects one entry per time.
    EraseOver(state, log.size());
    std::int64_t moved = 0;
    while (!log.empty() && log.back().at >= state.at) {
      const LogEntry last = log.back();
      moved += last.cost;
      log.Erase(last.key());
    }
    log.Insert({state.at, moved});
    state.previous = 0;
  }
  EraseOver(state, kErasedAtOnce);
}

void Operations::Take(const LimitNumbers& limit, State& state, std::int64_t cost,
                      std::uint64_t /*slot*/) {
  Commit(limit, state);
  auto& log = state.history->log;
  std::int64_t counted = std::min(cost, kMaxAmount - state.value);
  if (counted == 0) return;
  state.value += counted;
  MakeRoomAt(state, state.at);
  if (AnyLive(state)) {
    const LogEntry last = log.back();
    if (last.at == state.at) return log.SetCost(last.key(), last.cost + counted);
    if (HoldsMostEntries(limit, state)) {
      counted += last.cost;
      log.Erase(last.key());
    }
  }
  log.Insert({state.at, counted});
}

WallTime Operations::AdjustableUntil(const LimitNumbers& limit, WallTime at) {
  return at + limit.window;
}

void Operations::Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta) {
  Commit(limit, state);
  auto& log = state.history->log;
  const bool may_be_live = MicrosOf(at) >= state.previous;
  const LogEntry* found = may_be_live ? log.Find({.time = MicrosOf(at)}) : nullptr;
  if (found == nullptr) {
    // Units of a grant left no entry; a charge on top of them must.
    const bool counts = delta > 0 && at <= state.at && state.at < at + limit.window;
    if (!counts) return;
    MakeRoomAt(state, at);
    if (HoldsMostEntries(limit, state)) {
      found = log.FirstFrom({.time = MicrosOf(at)});
      if (found == nullptr) {
        // The latest one, which moves on.
        const LogEntry last = log.back();
        log.Erase(last.key());
        log.Insert({at, last.cost});
      }
    } else {
      log.Insert({at, 0});
    }
    if (found == nullptr) found = log.Find({.time = MicrosOf(at)});
  }
  const LogEntry entry = *found;
  const std::int64_t change = std::clamp(delta, -entry.cost, kMaxAmount - state.value);
  state.value += change;
  if (entry.cost + change == 0) {
    log.Erase(entry.key());
  } else {
    log.SetCost(entry.key(), entry.cost + change);
  }
}

}  // namespace sluice::algo::sliding_log
