#include "algo/history.h"

#include <utility>

#include "algo/algorithm_info.h"

namespace sluice::algo {
namespace {

// Histories with fewer entries are not shrunk.
constexpr std::size_t kLargeHistory = 64;

// The moment before which entries are over, if the clock was never set back: see State::previous.
std::int64_t OverBefore(const LimitNumbers& limit, WallTime now) {
  const WallTime over = limit.algorithm == Algorithm::kConcurrency ? now : now - limit.window;
  return over.time_since_epoch().count() + 1;
}

// Number of entries, of live ones, and capacity.
struct Entries {
  std::size_t live;
  std::size_t room;
};

Entries Count(const LimitNumbers& limit, WallTime now, const History& history) {
  const std::int64_t over = OverBefore(limit, now);
  if (limit.algorithm == Algorithm::kConcurrency) {
    return {.live = history.slots.size() - history.slots.Before(over).count,
            .room = history.slots.Bytes() / sizeof(Slot)};
  }
  return {.live = history.log.size() - history.log.Before(over).count,
          .room = history.log.Bytes() / sizeof(LogEntry)};
}

// The entries of a state that was advanced that are not over, in as little memory as they need.
History LiveOf(const State& state) {
  const auto is_live = [&](const auto& entry) { return entry.key().time >= state.previous; };
  History live;
  state.history->log.ForEach([&](const LogEntry& entry) {
    if (is_live(entry)) live.log.Insert(entry);
  });
  state.history->slots.ForEach([&](const Slot& slot) {
    if (!is_live(slot)) return;
    live.slots.Insert(slot);
    live.expiries.Insert({slot.id, slot.expires});
  });
  return live;
}

}  // namespace

std::size_t BytesOf(const History& history) {
  return history.log.Bytes() + history.slots.Bytes() + history.expiries.Bytes();
}

std::size_t BytesToGrow(const LimitNumbers& limit, const State& state, std::size_t more) {
  if (state.history == nullptr || !InfoOf(limit.algorithm).keeps_history) return 0;
  if (limit.algorithm == Algorithm::kSlidingWindowLog) return state.history->log.BytesToGrow(more);
  return state.history->slots.BytesToGrow(more) + state.history->expiries.BytesToGrow(more);
}

void Grow(const LimitNumbers& limit, State& state, std::size_t more) {
  if (state.history == nullptr || !InfoOf(limit.algorithm).keeps_history) return;
  if (limit.algorithm == Algorithm::kSlidingWindowLog) return state.history->log.Reserve(more);
  state.history->slots.Reserve(more);
  state.history->expiries.Reserve(more);
}

bool Shrink(const LimitNumbers& limit, WallTime now, State& state) {
  if (state.history == nullptr || !InfoOf(limit.algorithm).keeps_history) return false;
  const Entries entries = Count(limit, now, *state.history);
  if (entries.room < kLargeHistory || 4 * entries.live > entries.room) return false;
  State advanced = state;
  if (Advance(limit, now, advanced) == ClockSeen::kSetBack) return false;
  *state.history = LiveOf(advanced);
  advanced.previous = 0;
  advanced.at = state.at;  // Nothing was consumed.
  state = advanced;
  return true;
}

}  // namespace sluice::algo
