#include "algo/lease.h"

#include <algorithm>

#include "algo/bucket.h"
#include "algo/lease_book.h"

namespace sluice::algo::lease {
namespace {

// The bucket that is left when what is outstanding is not part of it.
LimitNumbers Reduced(const LimitNumbers& limit, const Book& book) {
  LimitNumbers reduced = limit;
  reduced.cap -= Outstanding(book);
  return reduced;
}

void DropPart(Book& book, std::size_t index) {
  std::move(book.parts.begin() + static_cast<std::ptrdiff_t>(index) + 1, book.parts.end(),
            book.parts.begin() + static_cast<std::ptrdiff_t>(index));
  book.parts.back() = {};
}

void Refill(const LimitNumbers& limit, WallTime now, State& state, const Book& book) {
  const LimitNumbers reduced = Reduced(limit, book);
  state.value = std::min(state.value, bucket::Full(reduced));
  bucket::Advance(reduced, now, state);
}

// From part to part: while tokens are out, the bucket fills up to less.
ClockSeen AdvanceBucket(const LimitNumbers& limit, WallTime now, State& state, Book& book) {
  const Micros back = state.at - now;
  if (back > kClockTolerance) {
    // The clock was set back. What leases have left by the key's own time, they have from now on.
    for (Part& part : book.parts) {
      if (part.tokens > 0) part.expires = ClampTime(part.expires - back);
    }
    ++book.generation;  // No lease has its old name any more: another might get it.
  }
  while (book.parts[0].tokens > 0 && book.parts[0].expires <= now) {
    if (book.parts[0].expires > state.at) Refill(limit, book.parts[0].expires, state, book);
    DropPart(book, 0);
  }
  Refill(limit, now, state, book);
  return back > kClockTolerance ? ClockSeen::kSetBack : ClockSeen::kForward;
}

// A window that is over takes nothing back; a sliding counter's weighs on for one window more.
ClockSeen AdvanceWindow(const LimitNumbers& limit, WallTime now, State& state, Book& book) {
  const ClockSeen seen = algo::Advance(limit, now, state);
  if (seen == ClockSeen::kSetBack) {
    book.parts = {};
    return seen;
  }
  const WallTime oldest = IsSliding(limit) ? state.at : WindowEnd(limit, state);
  while (book.parts[0].tokens > 0 && book.parts[0].expires < oldest) DropPart(book, 0);
  return seen;
}

Part* PartOf(Book& book, const Id& id) {
  if (id.generation == 0 || id.generation != book.generation) return nullptr;
  const auto found = std::find_if(book.parts.begin(), book.parts.end(), [&](const Part& part) {
    return part.tokens > 0 && part.expires == id.expires;
  });
  return found == book.parts.end() ? nullptr : &*found;
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
  used.value = 1;  // What is not used has no end.
  return algo::FreshAt(limit, used);
}

void AddPart(Book& book, WallTime expires, std::int64_t tokens) {
  const auto place = std::find_if(book.parts.begin(), book.parts.end(), [&](const Part& part) {
    return part.tokens == 0 || part.expires >= expires;
  });
  if (place != book.parts.end() && place->tokens > 0 && place->expires == expires) {
    place->tokens += tokens;
  } else if (book.parts.back().tokens == 0) {
    std::move_backward(place, book.parts.end() - 1, book.parts.end());
    *place = {.expires = expires, .tokens = tokens};
  } else {
    // No room: together with the last, until the later end.
    Part& last = book.parts.back();
    last.expires = std::max(last.expires, expires);
    last.tokens += tokens;
  }
}

bool Leasable(Algorithm algorithm) {
  return algorithm == Algorithm::kTokenBucket || algorithm == Algorithm::kFixedWindow ||
         algorithm == Algorithm::kSlidingWindowCounter;
}

std::int64_t Outstanding(const Book& book) {
  std::int64_t sum = 0;
  for (const Part& part : book.parts) sum += part.tokens;
  return sum;
}

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state, Book& book) {
  if (book.parts[0].tokens == 0) {
    // Nobody holds anything, and nobody asked lately: it begins anew.
    if (now.time_since_epoch() / kEpoch > book.epoch + 1) book = {};
    return algo::Advance(limit, now, state);
  }
  return IsBucket(limit) ? AdvanceBucket(limit, now, state, book)
                         : AdvanceWindow(limit, now, state, book);
}

Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, const Book& book,
               std::int64_t cost) {
  if (!IsBucket(limit) || cost > limit.cap) return algo::WaitFor(limit, now, state, cost);
  State later = state;
  Book open = book;
  while (open.parts[0].tokens > 0) {
    const WallTime next = open.parts[0].expires;
    const bool fits = cost <= limit.cap - Outstanding(open);
    const std::int64_t missing = cost * limit.rate_den - later.value;
    if (fits && bucket::ArrivalOf(limit, later, missing) <= next) break;
    Refill(limit, next, later, open);
    DropPart(open, 0);
  }
  const std::int64_t missing = cost * limit.rate_den - later.value;
  return WaitUntil(now, bucket::ArrivalOf(limit, later, missing));
}

WallTime FreshAt(const LimitNumbers& limit, const State& state, const Book& book) {
  if (!IsBucket(limit) || book.parts[0].tokens == 0) return algo::FreshAt(limit, state);
  State later = state;
  Book open = book;
  while (open.parts[0].tokens > 0) {
    Refill(limit, open.parts[0].expires, later, open);
    DropPart(open, 0);
  }
  return bucket::FreshAt(limit, later);
}

void Reset(const LimitNumbers& limit, WallTime now, State& state, Book& book) {
  Advance(limit, now, state, book);
  const WallTime at = state.at;
  state = algo::Fresh(limit, now);
  if (IsBucket(limit)) {
    state.value = bucket::Full(Reduced(limit, book));
    return;
  }
  // The leases of this window count as used in it.
  std::int64_t in_hand = 0;
  for (const Part& part : book.parts) {
    if (part.tokens > 0 && part.expires > now) in_hand += part.tokens;
  }
  algo::Advance(limit, now, state);
  if (in_hand > 0) state = {.at = at, .value = in_hand};
}

void Hear(const LimitNumbers& limit, State& state, Book& book, const Report& report) {
  Part* const part = PartOf(book, report.of);
  if (part == nullptr) return;
  const std::int64_t returned = std::clamp(report.returned, std::int64_t{0}, part->tokens);
  GiveBack(limit, state, part->expires, returned);
  part->tokens -= returned;
  part->tokens -= std::clamp(report.spent, std::int64_t{0}, part->tokens);
  if (part->tokens == 0) DropPart(book, static_cast<std::size_t>(part - book.parts.data()));
}

}  // namespace sluice::algo::lease
