#include "algo/testing/model.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <type_traits>

namespace sluice::algo::testing {

namespace {

const Integer kTolerance = kClockTolerance.count();
const Integer kMost = kMaxAmount;

/// Integer division of Boost truncates; the model thinks in floors and ceilings.
Integer Floor(const Rational& value) {
  const Integer num = numerator(value);
  const Integer den = denominator(value);
  const Integer quotient = num / den;
  return quotient * den > num ? Integer(quotient - 1) : quotient;
}

Integer Ceil(const Rational& value) { return -Floor(-value); }

bool IsSetBack(const Integer& now, const Integer& own_time) { return own_time - now > kTolerance; }

Integer AddUsed(const Integer& used, const Integer& delta) {
  return std::clamp<Integer>(used + delta, 0, kMost);
}

/// The first moment in [from, to] at which `holds`, which holds at `to` and, once true, stays so.
Integer FirstMoment(Integer from, Integer to, const std::function<bool(const Integer&)>& holds) {
  while (from < to) {
    const Integer middle = (from + to) / 2;
    if (holds(middle)) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return to;
}

WindowBounds CalendarWindow(Anchor anchor, const Integer& moment) {
  using namespace std::chrono;
  const sys_days day = floor<days>(WallTime{Micros{moment.convert_to<std::int64_t>()}});
  const year_month_day date{day};
  sys_days begin = day;
  sys_days end = day + days{1};
  if (anchor == Anchor::kWeek) {
    begin = day - (weekday{day} - Monday);
    end = begin + days{7};
  } else if (anchor == Anchor::kMonth) {
    begin = date.year() / date.month() / 1;
    end = sys_days{(date.year() / date.month() + months{1}) / 1};
  } else if (anchor == Anchor::kYear) {
    begin = date.year() / January / 1;
    end = (date.year() + years{1}) / January / 1;
  }
  const auto micros = [](sys_days d) { return Integer{Micros{d.time_since_epoch()}.count()}; };
  return {.begin = std::max<Integer>(micros(begin), 0), .end = micros(end)};
}

}  // namespace

WindowBounds WindowAt(const LimitNumbers& limit, const Integer& moment) {
  if (limit.anchor != Anchor::kEpoch) return CalendarWindow(limit.anchor, moment);
  const Integer window = limit.window.count();
  const Integer begin = moment / window * window;
  return {.begin = begin, .end = begin + window};
}

// ---- Buckets

BucketModel::BucketModel(const LimitNumbers& limit, const Integer& now)
    : limit_(limit), level_(limit.cap), at_(now) {}

Rational BucketModel::RatePerStep() const { return Rational(limit_.rate_num, limit_.rate_den); }

Integer BucketModel::StepOf(const Integer& moment) const {
  return moment / limit_.interval.count();
}

void BucketModel::SetLevel(const Rational& level) {
  const Rational deepest_debt(-kMost, limit_.rate_den);
  level_ = std::clamp<Rational>(level, deepest_debt, limit_.cap);
}

ClockSeen BucketModel::Advance(const Integer& now) {
  const bool is_full = level_ == limit_.cap;
  if (!is_full && IsSetBack(now, at_)) {
    at_ = now;
    return ClockSeen::kSetBack;
  }
  if (is_full) at_ = now;
  if (now > at_) {
    SetLevel(level_ + RatePerStep() * Rational(StepOf(now) - StepOf(at_)));
    at_ = now;
  }
  return ClockSeen::kForward;
}

ClockSeen BucketModel::ChangeLimit(const LimitNumbers& to, const Integer& /*now*/) {
  limit_ = to;
  SetLevel(Rational(Floor(level_ * to.rate_den), to.rate_den));
  return ClockSeen::kForward;
}

Integer BucketModel::Left() const { return Floor(level_); }

Integer BucketModel::WhenLevel(const Rational& level) const {
  const Integer steps = Ceil((level - level_) / RatePerStep());
  return (StepOf(at_) + steps) * limit_.interval.count();
}

Integer BucketModel::WhenLeft(const Integer& amount) const { return WhenLevel(Rational(amount)); }

Integer BucketModel::WhenFresh() const {
  return level_ == limit_.cap ? Integer(0) : WhenLevel(limit_.cap);
}

Integer BucketModel::Delay() const {
  if (limit_.algorithm != Algorithm::kLeakyBucket) return 0;
  const Integer delay = Ceil((limit_.cap - level_) / RatePerStep()) * limit_.interval.count();
  return std::min<Integer>(delay, kMaxWait.count());
}

void BucketModel::Take(const Integer& cost, std::uint64_t /*slot*/) {
  SetLevel(level_ - Rational(cost));
}

void BucketModel::Adjust(const Integer& /*at*/, const Integer& delta) {
  SetLevel(level_ - Rational(delta));
}

// ---- Fixed window

FixedWindowModel::FixedWindowModel(const LimitNumbers& limit, const Integer& now)
    : limit_(limit), begin_(limit.anchor == Anchor::kFirstHit ? now : WindowAt(limit, now).begin) {}

ClockSeen FixedWindowModel::Advance(const Integer& now) {
  const bool set_back = used_ > 0 && IsSetBack(now, begin_);
  if (now >= End()) used_ = 0;
  const bool stays = used_ > 0 && !set_back;
  if (!stays) begin_ = limit_.anchor == Anchor::kFirstHit ? now : WindowAt(limit_, now).begin;
  return set_back ? ClockSeen::kSetBack : ClockSeen::kForward;
}

ClockSeen FixedWindowModel::ChangeLimit(const LimitNumbers& to, const Integer& now) {
  if (now >= End()) used_ = 0;
  const Integer moment = std::max(now, begin_);
  limit_ = to;
  if (to.anchor != Anchor::kFirstHit) {
    begin_ = WindowAt(to, moment).begin;
  } else if (moment >= End()) {
    begin_ = moment;
  }
  return ClockSeen::kForward;
}

Integer FixedWindowModel::End() const {
  return limit_.anchor == Anchor::kFirstHit ? Integer(begin_ + limit_.window.count())
                                            : WindowAt(limit_, begin_).end;
}

Integer FixedWindowModel::Left() const { return limit_.cap - used_; }

Integer FixedWindowModel::WhenLeft(const Integer& /*amount*/) const { return End(); }

Integer FixedWindowModel::WhenFresh() const { return used_ == 0 ? Integer(0) : End(); }

void FixedWindowModel::Take(const Integer& cost, std::uint64_t /*slot*/) {
  used_ = AddUsed(used_, cost);
}

void FixedWindowModel::Adjust(const Integer& at, const Integer& delta) {
  // A window that nothing was counted in yet begins with what is charged to it.
  const bool begins = limit_.anchor == Anchor::kFirstHit && used_ == 0 && delta > 0 &&
                      at <= begin_ && begin_ < at + limit_.window.count();
  if (begins) begin_ = at;
  const bool is_refund_without_receipt =
      limit_.anchor == Anchor::kFirstHit && delta < 0 && at > begin_;
  if (at == begin_ || is_refund_without_receipt) used_ = AddUsed(used_, delta);
}

// ---- Sliding window counter

SlidingCounterModel::SlidingCounterModel(const LimitNumbers& limit, const Integer& now)
    : limit_(limit), begin_(WindowAt(limit, now).begin), effective_now_(now) {}

ClockSeen SlidingCounterModel::Advance(const Integer& now) {
  const bool is_used = previous_ > 0 || current_ > 0;
  const bool set_back = is_used && IsSetBack(now, begin_);
  effective_now_ = is_used && !set_back ? std::max(now, begin_) : now;
  const Integer begin = WindowAt(limit_, effective_now_).begin;
  if (begin > begin_) {
    const bool is_next = begin == begin_ + limit_.window.count();
    previous_ = is_next ? current_ : Integer(0);
    current_ = 0;
  }
  begin_ = begin;
  // What weighs nothing any more never will again.
  if (EstimateAt(effective_now_) == current_) previous_ = 0;
  return set_back ? ClockSeen::kSetBack : ClockSeen::kForward;
}

ClockSeen SlidingCounterModel::ChangeLimit(const LimitNumbers& to, const Integer& now) {
  ClockSeen seen = ClockSeen::kForward;
  if (to.window != limit_.window) {
    seen = Advance(now);
    current_ = AddUsed(EstimateAt(effective_now_), 0);
    previous_ = 0;
    begin_ = WindowAt(to, effective_now_).begin;
  }
  limit_ = to;
  return seen;
}

Integer SlidingCounterModel::EstimateAt(const Integer& moment) const {
  const Integer window = limit_.window.count();
  const Integer elapsed = moment - begin_;
  if (elapsed < window) return previous_ * (window - elapsed) / window + current_;
  if (elapsed < 2 * window) return current_ * (2 * window - elapsed) / window;
  return 0;
}

Integer SlidingCounterModel::WhenEstimate(const Integer& most) const {
  return FirstMoment(begin_, begin_ + 2 * limit_.window.count(),
                     [&](const Integer& moment) { return EstimateAt(moment) <= most; });
}

Integer SlidingCounterModel::Left() const { return limit_.cap - EstimateAt(effective_now_); }

Integer SlidingCounterModel::WhenLeft(const Integer& amount) const {
  return WhenEstimate(limit_.cap - amount);
}

Integer SlidingCounterModel::WhenFresh() const {
  return previous_ == 0 && current_ == 0 ? Integer(0) : WhenEstimate(0);
}

void SlidingCounterModel::Take(const Integer& cost, std::uint64_t /*slot*/) {
  current_ = AddUsed(current_, cost);
}

void SlidingCounterModel::Adjust(const Integer& at, const Integer& delta) {
  if (at == begin_) current_ = AddUsed(current_, delta);
  if (at == begin_ - limit_.window.count()) previous_ = AddUsed(previous_, delta);
}

// ---- Sliding window log

SlidingLogModel::SlidingLogModel(const LimitNumbers& limit, const Integer& now)
    : limit_(limit), effective_now_(now) {}

ClockSeen SlidingLogModel::Advance(const Integer& now) {
  const Integer newest = cost_at_.empty() ? now : cost_at_.rbegin()->first;
  const bool set_back = IsSetBack(now, newest);
  effective_now_ = set_back ? now : std::max(now, newest);

  std::map<Integer, Integer> live;
  for (const auto& [at, cost] : cost_at_) {
    const Integer moment = std::min(at, effective_now_);
    if (effective_now_ < moment + limit_.window.count()) live[moment] += cost;
  }
  cost_at_ = live;
  return set_back ? ClockSeen::kSetBack : ClockSeen::kForward;
}

ClockSeen SlidingLogModel::ChangeLimit(const LimitNumbers& to, const Integer& /*now*/) {
  limit_ = to;
  return ClockSeen::kForward;
}

Integer SlidingLogModel::Used() const {
  Integer used = 0;
  for (const auto& [at, cost] : cost_at_) used += cost;
  return used;
}

Integer SlidingLogModel::Left() const { return limit_.cap - Used(); }

Integer SlidingLogModel::WhenLeft(const Integer& amount) const {
  Integer left = Left();
  for (const auto& [at, cost] : cost_at_) {
    left += cost;
    if (left >= amount) return at + limit_.window.count();
  }
  return effective_now_;
}

Integer SlidingLogModel::WhenFresh() const {
  return cost_at_.empty() ? Integer(0) : Integer(cost_at_.rbegin()->first + limit_.window.count());
}

void SlidingLogModel::Take(const Integer& cost, std::uint64_t /*slot*/) {
  const Integer room = kMost - Used();
  const Integer taken = std::min(cost, room);
  if (taken > 0) cost_at_[effective_now_] += taken;
}

void SlidingLogModel::Adjust(const Integer& at, const Integer& delta) {
  const bool is_live = at <= effective_now_ && effective_now_ < at + limit_.window.count();
  if (is_live && delta > 0) cost_at_.emplace(at, 0);
  const auto entry = cost_at_.find(at);
  if (entry == cost_at_.end()) return;
  const Integer room = kMost - Used();
  entry->second += std::min(delta, room);
  if (entry->second <= 0) cost_at_.erase(entry);
}

// ---- Concurrency

ConcurrencyModel::ConcurrencyModel(const LimitNumbers& limit, const Integer& now)
    : limit_(limit), now_(now) {}

ClockSeen ConcurrencyModel::Advance(const Integer& now) {
  now_ = now;
  const Integer latest = now + limit_.window.count();
  const bool set_back = std::ranges::any_of(
      slots_, [&](const auto& slot) { return IsSetBack(latest, slot.second.expires); });
  for (auto& [id, held] : slots_) {
    if (set_back) held.expires = std::min(held.expires, latest);
  }
  std::erase_if(slots_, [&](const auto& slot) { return slot.second.expires <= now; });
  return set_back ? ClockSeen::kSetBack : ClockSeen::kForward;
}

ClockSeen ConcurrencyModel::ChangeLimit(const LimitNumbers& to, const Integer& /*now*/) {
  limit_ = to;
  return ClockSeen::kForward;
}

Integer ConcurrencyModel::Used() const {
  Integer used = 0;
  for (const auto& [id, held] : slots_) used += held.cost;
  return used;
}

Integer ConcurrencyModel::Left() const { return limit_.cap - Used(); }

Integer ConcurrencyModel::WhenLeft(const Integer& amount) const {
  std::vector<Held> by_expiry;
  for (const auto& [id, held] : slots_) by_expiry.push_back(held);
  std::sort(by_expiry.begin(), by_expiry.end(),
            [](const Held& a, const Held& b) { return a.expires < b.expires; });
  Integer left = Left();
  for (const Held& held : by_expiry) {
    left += held.cost;
    if (left >= amount) return held.expires;
  }
  return now_;
}

Integer ConcurrencyModel::WhenFresh() const {
  Integer latest = 0;
  for (const auto& [id, held] : slots_) latest = std::max(latest, held.expires);
  return latest;
}

void ConcurrencyModel::Take(const Integer& cost, std::uint64_t slot) {
  if (Renew(slot)) return;
  const Integer room = kMost - Used();
  slots_[slot] = {.expires = now_ + limit_.window.count(), .cost = std::min(cost, room)};
}

void ConcurrencyModel::Adjust(const Integer& /*at*/, const Integer& /*delta*/) {}

bool ConcurrencyModel::Release(std::uint64_t slot) { return slots_.erase(slot) > 0; }

bool ConcurrencyModel::Renew(std::uint64_t slot) {
  const auto held = slots_.find(slot);
  if (held == slots_.end()) return false;
  held->second.expires = now_ + limit_.window.count();
  return true;
}

// ---- One key

KeyModel::Model KeyModel::Make(const LimitNumbers& limit, const Integer& now) {
  switch (limit.algorithm) {
    case Algorithm::kFixedWindow:
      return FixedWindowModel(limit, now);
    case Algorithm::kSlidingWindowLog:
      return SlidingLogModel(limit, now);
    case Algorithm::kSlidingWindowCounter:
      return SlidingCounterModel(limit, now);
    case Algorithm::kConcurrency:
      return ConcurrencyModel(limit, now);
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      break;
  }
  return BucketModel(limit, now);
}

KeyModel::KeyModel(const LimitNumbers& limit, const Integer& now)
    : limit_(limit), model_(Make(limit, now)) {}

ClockSeen KeyModel::Advance(const LimitNumbers& limit, const Integer& now) {
  ClockSeen seen = ClockSeen::kForward;
  if (limit.algorithm != limit_.algorithm) {
    model_ = Make(limit, now);
  } else if (limit != limit_) {
    seen = std::visit([&](auto& model) { return model.ChangeLimit(limit, now); }, model_);
  }
  limit_ = limit;
  const ClockSeen then = std::visit([&](auto& model) { return model.Advance(now); }, model_);
  return seen == ClockSeen::kSetBack ? seen : then;
}

Integer KeyModel::Left() const {
  return std::visit([](const auto& model) { return model.Left(); }, model_);
}

Integer KeyModel::WhenLeft(const Integer& amount) const {
  return std::visit([&](const auto& model) { return model.WhenLeft(amount); }, model_);
}

Integer KeyModel::WhenFresh() const {
  return std::visit([](const auto& model) { return model.WhenFresh(); }, model_);
}

Integer KeyModel::Delay() const {
  return std::visit([](const auto& model) { return model.Delay(); }, model_);
}

void KeyModel::Take(const Integer& cost, std::uint64_t slot) {
  std::visit([&](auto& model) { model.Take(cost, slot); }, model_);
}

Integer KeyModel::ReceiptTime() const {
  return std::visit([](const auto& model) { return model.ReceiptTime(); }, model_);
}

void KeyModel::Adjust(const Integer& at, const Integer& delta) {
  std::visit([&](auto& model) { model.Adjust(at, delta); }, model_);
}

bool KeyModel::Holds(std::uint64_t slot) const {
  const auto* slots = std::get_if<ConcurrencyModel>(&model_);
  return slots != nullptr && slots->Holds(slot);
}

bool KeyModel::Release(std::uint64_t slot) {
  auto* slots = std::get_if<ConcurrencyModel>(&model_);
  return slots != nullptr && slots->Release(slot);
}

bool KeyModel::Renew(std::uint64_t slot) {
  auto* slots = std::get_if<ConcurrencyModel>(&model_);
  return slots != nullptr && slots->Renew(slot);
}

}  // namespace sluice::algo::testing
