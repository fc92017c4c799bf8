#include <algorithm>
#include <cmath>

#include "algo/bucket.h"
#include "algo/lease_ledger.h"
#include "base/wide_math.h"

/// How much is lent, and for how long: docs/leases.md has the formulas.
namespace sluice::algo::lease {
namespace {

constexpr Micros kShortestReserve = std::chrono::milliseconds(50);
constexpr Micros kLongestReserve = std::chrono::milliseconds(250);
constexpr Micros kLastReserve = std::chrono::milliseconds(20);
// So that all that is reserved stays far below 2^53.
constexpr std::int64_t kFastestReserved = kMaxAmount / 4 / kLongestReserve.count();
constexpr Micros kBetweenRecalls = std::chrono::milliseconds(5);
// Ends are multiples of these, so that a key has at most five long entries and six short ones.
constexpr Micros kLongStep = kLongLease / 4;
constexpr Micros kShortStep = kShortLease / 2;
constexpr std::int64_t kBesidesWaiting = 16;
// Bounds for the values that nodes report.
constexpr std::int64_t kMostNodes = std::int64_t{1} << 20;
constexpr std::int64_t kMostDemand = std::int64_t{1} << 30;
// A window that ends sooner is not leased from: half of it would be over when the answer arrives.
constexpr Micros kShortestLease = std::chrono::milliseconds(10);

void NoteRequest(Ledger& ledger, WallTime now, const Request& request) {
  const std::int64_t epoch = now.time_since_epoch() / kEpoch;
  if (epoch != ledger.epoch) {
    const bool next = epoch == ledger.epoch + 1;
    ledger.holders_once = std::max(ledger.holders_once / 2, ledger.holders * 16);
    ledger.holders_before = next ? ledger.holders : 0;
    ledger.demand_before = next ? ledger.demand : 0;
    ledger.denied_before = next ? ledger.denied : 0;
    ledger.holders = ledger.demand = ledger.denied = 0;
    ledger.epoch = epoch;
  }
  if (request.epoch != epoch) {
    ledger.holders = std::min(ledger.holders + 1, kMostNodes);
    ledger.demand = std::min(ledger.demand + request.demand, kMostDemand);
  }
  ledger.denied = std::min(ledger.denied + request.denied, kMostDemand);
}

std::int64_t NodesAtWork(const Ledger& ledger) {
  return std::max(
      {std::int64_t{1}, ledger.holders, ledger.holders_before, ledger.holders_once / 16});
}

// Returns whether the demand exceeds this many fifths of the refill. In doubles, as in Redis' Lua:
// both stores must give the same result, whatever the rounding.
bool AsksForFifths(const LimitNumbers& limit, const Ledger& ledger, std::int64_t own, int fifths) {
  const auto demand = static_cast<double>(std::max({ledger.demand, ledger.demand_before, own}));
  constexpr double kSecond = 1e6;
  if (IsBucket(limit)) {
    return 5 * demand * static_cast<double>(limit.rate_den) *
               static_cast<double>(limit.interval.count()) >
           fifths * kSecond * static_cast<double>(limit.rate_num);
  }
  return 5 * demand * static_cast<double>(limit.window.count()) >
         fifths * kSecond * static_cast<double>(limit.cap);
}

bool IsSaturated(const LimitNumbers& limit, const Ledger& ledger) {
  return ledger.denied + ledger.denied_before > 0 && AsksForFifths(limit, ledger, 0, 5);
}

/// Refill rate of a key: `num` in units of 1/den token per µs.
struct Growth {
  std::int64_t num = 0;
  std::int64_t den = 1;
};

// Windows gain nothing before they end, and steps are not reported to nodes.
Growth GrowthOf(const LimitNumbers& limit, const State& state) {
  if (IsBucket(limit) && limit.interval == Micros{1}) return {limit.rate_num, limit.rate_den};
  const bool exact = Wide{state.previous} * limit.window.count() <= kMaxAmount;
  if (IsSliding(limit) && exact) return {state.previous, limit.window.count()};
  return {};
}

/// How far ahead refill is reserved; zero: not at all. Long enough for a few tokens for each node,
/// and for the requests of all nodes to be a few percent of the calls.
Micros ReserveTime(const Growth& growth, const Ledger& ledger, std::int64_t nodes) {
  if (growth.num == 0 || growth.num > kFastestReserved) return Micros{0};
  const auto num = static_cast<double>(growth.num);
  const double two_each = 2 * static_cast<double>(nodes) * static_cast<double>(growth.den);
  const auto demand =
      static_cast<double>(std::max({ledger.demand, ledger.demand_before, std::int64_t{1}}));
  const double few_requests = std::floor(30e6 * static_cast<double>(nodes) / demand);
  const double enough = std::max(std::floor(2 * two_each / num) + 1, few_requests);
  const double time = std::clamp(enough, static_cast<double>(kShortestReserve.count()),
                                 static_cast<double>(kLongestReserve.count()));
  return num * time >= two_each ? Micros{static_cast<std::int64_t>(time)} : Micros{0};
}

/// Tokens held at the end of the window are lost: the closer the end, the fewer are granted.
Micros NoLongerThanWindow(Micros reserve, Micros window_left) {
  return std::min(reserve, std::max(window_left / 3, kLastReserve));
}

/// Returns the units available at `now + ahead` without other callers, rounded down.
std::int64_t LeftAhead(const LimitNumbers& limit, WallTime now, const State& state, Micros ahead) {
  if (!IsBucket(limit)) {
    // Later refill is left to calls that are decided by the store.
    const WallTime last = WindowEnd(limit, state) - kShortestLease;
    return algo::Left(limit, ahead > Micros{0} ? std::min(now + ahead, last) : now, state);
  }
  State later = state;
  later.value = std::min(state.value + limit.rate_num * ahead.count(), bucket::Full(limit));
  return bucket::Left(limit, later);
}

Micros WindowLeft(const LimitNumbers& limit, WallTime now, const State& state) {
  return IsBucket(limit) ? Micros::max() : WindowEnd(limit, state) - now;
}

Schedule ScheduleOf(const LimitNumbers& limit, WallTime now, const State& state,
                    std::int64_t tokens) {
  const std::int64_t left = algo::Left(limit, now, state);
  if (tokens <= left) return {.ready = tokens};
  const Growth growth = GrowthOf(limit, state);
  const std::int64_t ready = std::max(left, std::int64_t{0});
  Wide have = 0;  // In 1/den tokens.
  if (IsBucket(limit)) {
    have = state.value;
  } else {
    const Micros elapsed = std::max(now - state.at, Micros{0});
    have = Wide{limit.cap - state.value} * growth.den -
           Wide{state.previous} * (limit.window - elapsed).count();
  }
  return {.ready = ready,
          .fraction = static_cast<std::int64_t>(have - Wide{ready} * growth.den),
          .num = growth.num,
          .den = growth.den};
}

struct Sizes {
  std::int64_t left;   ///< May be below zero, by what is reserved or owed.
  std::int64_t reach;  ///< With what may be reserved.
  std::int64_t nodes;
  bool pressed;  ///< As far as is known, as much may be asked for as arrives.
  Micros window_left;
};

Sizes Measure(const LimitNumbers& limit, WallTime now, const State& state, const Ledger& ledger,
              const Request& request) {
  const std::int64_t nodes = NodesAtWork(ledger);
  const std::int64_t left = algo::Left(limit, now, state);
  // The weight of the window before falls whatever comes.
  const bool reserves =
      IsSaturated(limit, ledger) || (IsSliding(limit) && AsksForFifths(limit, ledger, 0, 3));
  const Micros window_left = WindowLeft(limit, now, state);
  Micros ahead{0};
  if (reserves) {
    ahead = NoLongerThanWindow(ReserveTime(GrowthOf(limit, state), ledger, nodes), window_left);
  }
  std::int64_t reach = left;
  if (ahead > Micros{0}) reach = std::max(left, LeftAhead(limit, now, state, ahead));
  // Refill is reserved only as far as the bucket will have room for it.
  if (IsBucket(limit)) reach = std::min(reach, limit.cap - Outstanding(ledger));
  const std::int64_t all_like_this = request.demand * nodes;
  const bool unknown = ledger.demand_before == 0;
  return {.left = left,
          .reach = reach,
          .nodes = nodes,
          .pressed = unknown || AsksForFifths(limit, ledger, all_like_this, 4),
          .window_left = window_left};
}

std::int64_t SizeOf(const LimitNumbers& limit, const Sizes& sizes, const Request& request) {
  const std::int64_t there = std::max(sizes.left, std::int64_t{0});
  const bool plentiful = sizes.left > limit.cap / 2;
  const std::int64_t reserve = std::max(sizes.reach - sizes.left, std::int64_t{0});
  std::int64_t want = std::max(request.waiting, CeilDiv(request.demand, 2));
  // So little that the key stays plentiful when every node has it.
  const std::int64_t besides =
      std::min(kBesidesWaiting, limit.cap / (4 * std::max(sizes.nodes, request.nodes)));
  if (plentiful) want = std::max(want, request.waiting + besides);
  if (plentiful && sizes.pressed) {
    // Usage that was not reported yet keeps the bucket from refilling: soon it will be missed.
    want = std::min(want, request.waiting + std::max(besides, limit.cap / (16 * sizes.nodes)));
  }
  if (sizes.window_left < std::chrono::milliseconds(500)) {
    // No more than can be spent until then.
    const std::int64_t until_then = request.demand * sizes.window_left.count() / 1'000'000;
    want = std::min(want, request.waiting + until_then);
  }
  const std::int64_t share = (there / 2 + reserve) / sizes.nodes;
  const std::int64_t size = std::max(std::min(request.waiting, there), std::min(want, share));
  const std::int64_t most = std::max(std::min(size, sizes.reach), std::int64_t{0});
  // A grant too small for any waiting call is left to others, unless it will grow.
  return request.waiting > 0 && most < request.least && reserve == 0 ? 0 : most;
}

Request Believed(const Request& asked) {
  Request request = asked;
  const std::int64_t none = 0;
  request.waiting = std::clamp(asked.waiting, none, kMaxAmount / 4);
  request.least = std::clamp(asked.least, std::int64_t{1}, kMaxAmount / 4);
  request.demand = std::clamp(asked.demand, none, kMostDemand);
  request.denied = std::clamp(asked.denied, none, kMostDemand);
  request.nodes = std::clamp(asked.nodes, std::int64_t{1}, kMostNodes);
  return request;
}

bool StaysExact(const LimitNumbers& limit, const State& state, std::int64_t nodes,
                const Request& request) {
  return state.grant > 0 ||
         limit.cap < std::max(kSmallestLeased, 4 * std::max(nodes, request.nodes));
}

// Like single checks: grants are spent first.
std::int64_t TakeExactly(const LimitNumbers& limit, WallTime now, State& state,
                         const Request& request) {
  const std::int64_t there = std::max(algo::Left(limit, now, state), std::int64_t{0}) + state.grant;
  const std::int64_t tokens = std::min(request.waiting, there);
  if (tokens < request.least || tokens <= 0) return 0;
  const std::int64_t from_grant = std::min(tokens, state.grant);
  TakeGrant(state, from_grant);
  if (tokens > from_grant) algo::Take(limit, state, tokens - from_grant, 0);
  return tokens;
}

WallTime RoundedUp(WallTime t, Micros step) {
  const std::int64_t steps = CeilDiv(t.time_since_epoch().count(), step.count());
  return WallTime{step * steps};
}

void Lend(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger, const Sizes& sizes,
          Grant& grant) {
  grant.schedule = ScheduleOf(limit, now, state, grant.tokens);
  grant.lapses = IsBucket(limit) && sizes.left > limit.cap / 2;
  algo::Take(limit, state, grant.tokens, 0);
  if (ledger.generation == 0) ledger.generation = now.time_since_epoch().count();
  grant.id.generation = ledger.generation;
  if (IsBucket(limit)) {
    grant.good_for = grant.lapses ? kLongLease : kShortLease;
    if (grant.schedule.num > 0) grant.good_for += kLongestReserve;
    grant.id.expires = RoundedUp(now + grant.good_for, grant.lapses ? kLongStep : kShortStep);
  } else {
    grant.id.expires = WindowEnd(limit, state);
    grant.good_for = std::min(kLongLease, grant.id.expires - now);
  }
  AddOutstanding(ledger, grant.id.expires, grant.tokens);
}

}  // namespace

Grant Fetch(const LimitNumbers& limit, WallTime now, State& state, Ledger& ledger,
            const Request& asked) {
  const Request request = Believed(asked);
  now = std::max(now, state.at);
  for (const Report& report : request.reports) ApplyReport(limit, state, ledger, report);
  NoteRequest(ledger, now, request);
  const Sizes sizes = Measure(limit, now, state, ledger, request);
  Grant grant;
  grant.epoch = ledger.epoch;
  const bool ends = sizes.window_left < kShortestLease;
  grant.exact = ends || StaysExact(limit, state, sizes.nodes, request);
  if (grant.exact) {
    grant.good_for = ends ? sizes.window_left : kExactFor;
    grant.tokens = TakeExactly(limit, now, state, request);
    grant.schedule.ready = grant.tokens;
  } else {
    grant.tokens = SizeOf(limit, sizes, request);
    if (grant.tokens > 0) Lend(limit, now, state, ledger, sizes, grant);
  }
  const std::int64_t left = algo::Left(limit, now, state);
  grant.left = std::max(left, std::int64_t{0}) + state.grant;
  if (left < request.least) {
    grant.retry_after = WaitFor(limit, now, state, ledger, std::min(request.least, limit.cap));
  }
  grant.reset_after = WaitUntil(now, FreshAt(limit, state, ledger));
  grant.taken_at = state.at;
  const bool scarce = request.waiting > grant.tokens && Outstanding(ledger) > grant.tokens;
  const bool lately = ledger.recalled <= now && now - ledger.recalled < kBetweenRecalls;
  grant.recall = !grant.exact && scarce && !lately;
  if (grant.recall) ledger.recalled = now;
  return grant;
}

}  // namespace sluice::algo::lease
