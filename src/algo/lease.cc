#include "algo/lease.h"

#include <algorithm>

#include "algo/bucket.h"
#include "algo/lease_ledger.h"

namespace sluice::algo::lease {
namespace {

// The bucket without the outstanding tokens.
LimitNumbers Reduced(const LimitNumbers& limit, const Ledger& ledger) {
  LimitNumbers reduced = limit;
  reduced.cap -= Outstanding(ledger);
  return reduced;
}

void DropPart(Ledger& ledger, std::size_t index) {
  std::move(ledger.entries.begin() + static_cast<std::ptrdiff_t>(index) + 1, ledger.entries.end(),
            ledger.entries.begin() + static_cast<std::ptrdiff_t>(index));
  ledger.entries.back() = {};
}

void Refill(const LimitNumbers& limit, WallTime now, State& state, const Ledger& ledger) {
  const LimitNumbers reduced = Reduced(limit, ledger);
  state.value = std::min(state.value, bucket::Full(reduced));
  bucket::Advance(reduced, now, state);
}

// From part to part: while tokens are out, the bucket fills up to less.
ClockSeen AdvanceBucket(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger) {
  const Micros back = state.at - now;
  if (back > kClockTolerance) {
    // The clock was set back: the remaining durations of leases continue from now.
    for (LedgerEntry& part : ledger.entries) {
      if (part.tokens > 0) part.expires = ClampTime(part.expires - back);
    }
    ++ledger.generation;  // No lease has its old name any more: another might get it.
  }
  while (ledger.entries[0].tokens > 0 && ledger.entries[0].expires <= now) {
    if (ledger.entries[0].expires > state.at)
      Refill(limit, ledger.entries[0].expires, state, ledger);
    DropPart(ledger, 0);
  }
  Refill(limit, now, state, ledger);
  return back > kClockTolerance ? ClockSeen::kSetBack : ClockSeen::kForward;
}

// A past window accepts no returns, except for the previous window of a sliding counter.
ClockSeen AdvanceWindow(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger) {
  const ClockSeen seen = algo::Advance(limit, now, state);
  if (seen == ClockSeen::kSetBack) {
    ledger.entries = {};
    return seen;
  }
  const WallTime oldest = IsSliding(limit) ? state.at : WindowEnd(limit, state);
  while (ledger.entries[0].tokens > 0 && ledger.entries[0].expires < oldest) DropPart(ledger, 0);
  return seen;
}

LedgerEntry* PartOf(Ledger& ledger, const Id& id) {
  if (id.generation == 0 || id.generation != ledger.generation) return nullptr;
  const auto found = std::find_if(
      ledger.entries.begin(), ledger.entries.end(),
      [&](const LedgerEntry& part) { return part.tokens > 0 && part.expires == id.expires; });
  return found == ledger.entries.end() ? nullptr : &*found;
}

void GiveBack(const LimitNumbers& limit, State& state, WallTime expires, std::int64_t tokens) {
  if (IsBucket(limit)) {
    state.value += tokens * limit.rate_den;
  } else if (IsSliding(limit) && expires == state.at) {
    state.previous = std::max(state.previous - tokens, std::int64_t{0});
  } else {
    state.value = std::max(state.value - tokens, std::int64_t{0});
  }
}

}  // namespace

WallTime WindowEnd(const LimitNumbers& limit, const State& state) {
  if (IsSliding(limit)) return state.at + limit.window;
  State used = state;
  used.value = 1;  // An unused state has no end.
  return algo::FreshAt(limit, used);
}

void AddOutstanding(Ledger& ledger, WallTime expires, std::int64_t tokens) {
  const auto place = std::find_if(
      ledger.entries.begin(), ledger.entries.end(),
      [&](const LedgerEntry& part) { return part.tokens == 0 || part.expires >= expires; });
  if (place != ledger.entries.end() && place->tokens > 0 && place->expires == expires) {
    place->tokens += tokens;
  } else if (ledger.entries.back().tokens == 0) {
    std::move_backward(place, ledger.entries.end() - 1, ledger.entries.end());
    *place = {.expires = expires, .tokens = tokens};
  } else {
    // No room: together with the last, until the later end.
    LedgerEntry& last = ledger.entries.back();
    last.expires = std::max(last.expires, expires);
    last.tokens += tokens;
  }
}

std::int64_t Outstanding(const Ledger& ledger) {
  std::int64_t sum = 0;
  for (const LedgerEntry& part : ledger.entries) sum += part.tokens;
  return sum;
}

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger) {
  if (ledger.entries[0].tokens == 0) {
    // No node holds tokens or asked lately: the ledger starts over.
    if (now.time_since_epoch() / kEpoch > ledger.epoch + 1) ledger = {};
    return algo::Advance(limit, now, state);
  }
  return IsBucket(limit) ? AdvanceBucket(limit, now, state, ledger)
                         : AdvanceWindow(limit, now, state, ledger);
}

Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, const Ledger& ledger,
               std::int64_t cost) {
  if (!IsBucket(limit) || cost > limit.cap) return algo::WaitFor(limit, now, state, cost);
  State later = state;
  Ledger open = ledger;
  while (open.entries[0].tokens > 0) {
    const WallTime next = open.entries[0].expires;
    const bool fits = cost <= limit.cap - Outstanding(open);
    const std::int64_t missing = cost * limit.rate_den - later.value;
    if (fits && bucket::ArrivalOf(limit, later, missing) <= next) break;
    Refill(limit, next, later, open);
    DropPart(open, 0);
  }
  const std::int64_t missing = cost * limit.rate_den - later.value;
  return WaitUntil(now, bucket::ArrivalOf(limit, later, missing));
}

WallTime FreshAt(const LimitNumbers& limit, const State& state, const Ledger& ledger) {
  if (!IsBucket(limit) || ledger.entries[0].tokens == 0) return algo::FreshAt(limit, state);
  State later = state;
  Ledger open = ledger;
  while (open.entries[0].tokens > 0) {
    Refill(limit, open.entries[0].expires, later, open);
    DropPart(open, 0);
  }
  return bucket::FreshAt(limit, later);
}

void Reset(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger) {
  Advance(limit, now, state, ledger);
  const WallTime at = state.at;
  state = algo::Fresh(limit, now);
  if (IsBucket(limit)) {
    state.value = bucket::Full(Reduced(limit, ledger));
    return;
  }
  // The leases of this window count as used in it.
  std::int64_t in_hand = 0;
  for (const LedgerEntry& part : ledger.entries) {
    if (part.tokens > 0 && part.expires > now) in_hand += part.tokens;
  }
  algo::Advance(limit, now, state);
  if (in_hand > 0) state = {.at = at, .value = in_hand};
}

void ApplyReport(const LimitNumbers& limit, State& state, Ledger& ledger, const Report& report) {
  LedgerEntry* const part = PartOf(ledger, report.of);
  if (part == nullptr) return;
  const std::int64_t returned = std::clamp(report.returned, std::int64_t{0}, part->tokens);
  GiveBack(limit, state, part->expires, returned);
  part->tokens -= returned;
  part->tokens -= std::clamp(report.spent, std::int64_t{0}, part->tokens);
  if (part->tokens == 0) DropPart(ledger, static_cast<std::size_t>(part - ledger.entries.data()));
}

}  // namespace sluice::algo::lease
