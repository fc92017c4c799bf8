#include "lease/key_leases.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::lease {
namespace {

using algo::lease::Grant;
using algo::lease::kReports;
using algo::lease::Report;
using algo::lease::Request;

constexpr Micros kShortestIdle = std::chrono::milliseconds(50);
/// Usage below this, and below a sixteenth of the cap, is not worth its own message.
constexpr std::int64_t kMayLapse = 32;
constexpr Micros kSoon = std::chrono::seconds(1);
/// Below this demand the next call may wait for its lease.
constexpr double kBusy = 20;  // A second.
/// Part of its demand that a node keeps in a recall.
constexpr double kKeptSeconds = 0.002;

/// Interval of Tidy for a key that is not idle.
constexpr Micros kLookAgain = std::chrono::milliseconds(10);

/// Small leases of plentiful keys may lapse; larger ones would keep the bucket from refilling.
bool MayLapse(const HeldLease& held, std::int64_t cap) {
  return held.lapses && held.tokens + held.spent <= std::max(kMayLapse, cap / 16);
}

double TokensIn(const LimitNumbers& bucket, Micros time) {
  return static_cast<double>(time.count()) * static_cast<double>(bucket.rate_num) /
         (static_cast<double>(bucket.rate_den) * static_cast<double>(bucket.interval.count()));
}

/// Expired tokens are dropped; slow refill would be missing in the next burst.
bool IsSoonRefilled(const HeldLease& held, const LimitNumbers& limit) {
  return static_cast<double>(held.tokens) <= TokensIn(limit, kSoon);
}

Micros FromSeconds(double seconds) {
  return std::chrono::duration_cast<Micros>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::int64_t KeyLeases::Tokens() const {
  std::int64_t sum = 0;
  for (const HeldLease& held : held_) sum += held.tokens;
  return sum;
}

std::int64_t KeyLeases::Spendable(SteadyTime now) const {
  std::int64_t sum = 0;
  for (const HeldLease& held : held_) {
    if (held.tokens > 0) sum += held.Spendable(now);
  }
  return sum;
}

void KeyLeases::SpendFromOldest(std::int64_t cost, SteadyTime now) {
  for (HeldLease& held : held_) {
    if (held.tokens == 0) continue;
    const std::int64_t amount = std::min(cost, held.Spendable(now));
    held.Spend(amount);
    cost -= amount;
    if (cost == 0) return;
  }
}

bool KeyLeases::WantsMore() const {
  return in_flight_ == 0 && demand_.Rate() >= kBusy && Tokens() * 4 <= last_grant_;
}

void KeyLeases::Describe(std::int64_t spendable, SteadyTime now, SpendResult& spent) const {
  spent.remaining = spendable + left_;
  spent.reset_after = std::max(reset_at_ - now, Micros{0});
  spent.taken_at = taken_at_;
}

SpendResult KeyLeases::Peek(std::int64_t cost, SteadyTime now) const {
  SpendResult spent;
  if (now < exact_until_) return spent;
  const std::int64_t spendable = Spendable(now);
  Describe(spendable, now, spent);
  spent.decision = LeaseDecision::kAllowed;
  if (spendable >= cost) return spent;
  // Tokens in flight: the store has none before them.
  for (const HeldLease& held : held_) {
    if (held.tokens < cost || now >= held.deadline || held.schedule.num == 0) continue;
    const SteadyTime when = held.WhenSpendable(cost);
    if (when >= held.deadline) continue;
    spent.decision = LeaseDecision::kDenied;
    spent.retry_after = std::max(when - now, Micros{1});
    return spent;
  }
  spent.decision = LeaseDecision::kNeedsLease;
  spent.retry_after = std::max(retry_at_ - now, Micros{1});
  spent.still_missing = std::max(cost - asked_cost_ - spent.remaining, std::int64_t{0});
  return spent;
}

void KeyLeases::Spend(std::int64_t cost, SteadyTime now, SpendAttempt attempt, SpendResult& spent,
                      TableStats& stats) {
  if (spent.decision == LeaseDecision::kExact) return;
  const bool at_once = attempt == SpendAttempt::kNew || attempt == SpendAttempt::kTry;
  const bool comes_again =
      attempt == SpendAttempt::kTry && spent.decision == LeaseDecision::kNeedsLease;
  if (at_once && !comes_again) demand_.Add(static_cast<double>(cost), now);
  if (spent.decision == LeaseDecision::kNeedsLease) {
    if (attempt != SpendAttempt::kAnswered) return;
    spent.decision = LeaseDecision::kDenied;
  }
  if (spent.decision == LeaseDecision::kAllowed) {
    SpendFromOldest(cost, now);
    spent.remaining -= cost;
    stats.hits += at_once ? 1 : 0;
    stats.outstanding -= cost;
  } else {
    ++denied_;
    stats.denials += at_once ? 1 : 0;
  }
  spent.fetch_ahead = WantsMore();
}

// Tokens that were reported as spent meanwhile stay spent.
void KeyLeases::Unspend(std::int64_t cost, TableStats& stats) {
  --stats.hits;
  for (HeldLease& held : held_) {
    const std::int64_t amount = std::min(cost, held.spent);
    held.Spend(-amount);
    stats.outstanding += amount;
    cost -= amount;
  }
}

Request KeyLeases::MakeRequest(std::int64_t waiting, std::int64_t least, std::int64_t nodes,
                               SteadyTime now, TableStats& stats) {
  ++in_flight_;
  ++stats.fetches;
  Request request{.reports = TakeReports()};
  request.waiting = waiting;
  request.least = least;
  request.demand = static_cast<std::int64_t>(std::ceil(demand_.RateAt(now)));
  request.denied = denied_;
  request.epoch = epoch_;
  request.nodes = nodes;
  denied_ = 0;
  return request;
}

// Returns a free entry, or the one with the same lease; oldest first.
HeldLease* KeyLeases::PlaceFor(const HeldLease& held) {
  for (HeldLease& place : held_) {
    const bool plain = place.schedule.num == 0 && held.schedule.num == 0;
    if (place.tokens > 0 && plain && place.id == held.id) return &place;
  }
  std::size_t kept = 0;  // By hand: std::stable_partition allocates.
  for (HeldLease& place : held_) {
    if (!place.empty()) std::swap(held_[kept++], place);
  }
  return kept == held_.size() ? nullptr : &held_[kept];
}

void KeyLeases::Granted(std::int64_t least, SteadyTime sent, SteadyTime now, Micros slack,
                        const Grant& grant, TableStats& stats) {
  --in_flight_;
  epoch_ = grant.epoch;
  left_ = grant.left;
  is_known_ = true;
  reported_at_ = sent;
  reset_at_ = sent + std::min(grant.reset_after, kMaxWait);
  taken_at_ = grant.taken_at;
  retry_at_ = sent + std::min(grant.retry_after, kMaxWait);
  asked_cost_ = least;
  if (grant.exact) {
    Surrender(stats);
    exact_until_ = sent + grant.good_for;
    return;
  }
  if (grant.tokens == 0) return;
  HeldLease held{.id = grant.id, .schedule = grant.schedule, .granted = grant.tokens};
  held.tokens = grant.tokens;
  held.received = now;
  held.deadline = sent + grant.good_for - slack;
  held.lapses = grant.lapses;
  last_grant_ = grant.tokens;
  stats.granted += static_cast<std::uint64_t>(grant.tokens);
  if (now >= held.deadline) {
    stats.expired += static_cast<std::uint64_t>(grant.tokens);
    return;
  }
  HeldLease* const place = PlaceFor(held);
  if (place == nullptr) return;  // Lapses without a return.
  stats.outstanding += grant.tokens;
  if (place->tokens == 0) {
    *place = held;
  } else {
    place->granted += held.granted;
    place->schedule.ready += held.schedule.ready;
    place->tokens += held.tokens;
    place->deadline = std::min(place->deadline, held.deadline);
  }
}

void KeyLeases::Recall(SteadyTime now, TableStats& stats) {
  auto keep = static_cast<std::int64_t>(std::ceil(kKeptSeconds * demand_.RateAt(now)));
  for (HeldLease& held : held_) {
    if (held.schedule.num > 0) continue;  // This node's part of the future refill.
    const std::int64_t given = std::max(held.tokens - keep, std::int64_t{0});
    keep -= held.tokens - given;
    held.GiveBack(given);
    if (given > 0) reports_ = true;
    stats.recalled += static_cast<std::uint64_t>(given);
    stats.outstanding -= given;
  }
}

void KeyLeases::Surrender(TableStats& stats) {
  for (HeldLease& held : held_) {
    stats.returned += static_cast<std::uint64_t>(held.tokens);
    stats.outstanding -= held.tokens;
    held.GiveBack(held.tokens);
  }
  reports_ = holds_any();
}

Micros KeyLeases::IdleTime() const {
  return std::max(kShortestIdle, FromSeconds(3 / std::max(demand_.Rate(), 0.1)));
}

void KeyLeases::Tidy(SteadyTime now, const LimitNumbers& limit, TableStats& stats) {
  const bool idle = now - demand_.last() >= IdleTime();
  for (HeldLease& held : held_) {
    if (held.empty()) continue;
    const bool over = now >= held.deadline;
    const bool lapses =
        over ? held.lapses && IsSoonRefilled(held, limit) : MayLapse(held, limit.cap);
    if (over && (lapses || held.tokens == 0)) {
      stats.outstanding -= held.tokens;
      stats.expired += static_cast<std::uint64_t>(held.tokens);
      held = {};
    } else if (!lapses && (over || idle)) {
      // The store accepts the return if it still has the lease.
      if (over && !held.lapses) stats.missed += static_cast<std::uint64_t>(held.tokens);
      stats.returned += static_cast<std::uint64_t>(held.tokens);
      stats.outstanding -= held.tokens;
      held.GiveBack(held.tokens);
      reports_ = true;
    }
  }
}

SteadyTime KeyLeases::NextTidy(SteadyTime now, std::int64_t cap) const {
  const SteadyTime idle = demand_.last() + kShortestIdle;
  const SteadyTime may_be_idle = idle > now ? idle : now + kLookAgain;
  SteadyTime next = SteadyTime::max();
  for (const HeldLease& held : held_) {
    if (held.empty()) continue;
    next = std::min(next, held.deadline);
    if (!MayLapse(held, cap)) next = std::min(next, may_be_idle);
  }
  return next;
}

std::optional<std::int64_t> KeyLeases::TakeLastKnown(const LimitNumbers& limit, SteadyTime now) {
  if (!std::exchange(is_known_, false)) return std::nullopt;
  if (now >= reset_at_) return limit.cap;
  const double known = static_cast<double>(Tokens() + left_);
  const double passed = static_cast<double>((now - reported_at_).count());
  double since = 0;  // Returned since then.
  if (limit.algorithm == Algorithm::kTokenBucket) {
    since = TokensIn(limit, now - reported_at_);
  } else if (limit.algorithm == Algorithm::kSlidingWindowCounter) {
    const double whole = static_cast<double>((reset_at_ - reported_at_).count());
    since = (static_cast<double>(limit.cap) - known) * passed / whole;
  }
  return static_cast<std::int64_t>(std::clamp(known + since, 0.0, static_cast<double>(limit.cap)));
}

bool KeyLeases::HasReturns() const { return reports_ && holds_any(); }

bool KeyLeases::holds_any() const {
  return std::any_of(held_.begin(), held_.end(),
                     [](const HeldLease& held) { return !held.empty(); });
}

bool KeyLeases::IsCold(SteadyTime now) const {
  return in_flight_ == 0 && now - demand_.last() > KeyDemandSketch::kGap && !holds_any();
}

bool KeyLeases::Forgettable(SteadyTime now) const {
  constexpr Micros kMemory = std::chrono::seconds(1);
  return in_flight_ == 0 && now >= exact_until_ && now - demand_.last() >= kMemory && !holds_any();
}

std::array<Report, kReports> KeyLeases::TakeReports() {
  std::array<Report, kReports> reports{};
  for (std::size_t i = 0; i < kReports; ++i) {
    HeldLease& held = held_[i];
    reports[i] = {.of = held.id, .spent = held.spent, .returned = held.returned};
    held.spent = held.returned = 0;
    if (held.tokens == 0) held = {};
  }
  reports_ = false;
  return reports;
}

}  // namespace sluice::lease
