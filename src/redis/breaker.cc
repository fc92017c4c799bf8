#include "redis/breaker.h"

#include <algorithm>

namespace sluice::redis {

bool Breaker::Admit(SteadyTime now) {
  if (state_ == State::kClosed) return true;
  if (state_ == State::kOpen) {
    if (now < try_at_) return false;
    TryNow();
  }
  if (in_flight_ >= options_.probes) return false;
  ++in_flight_;
  return true;
}

void Breaker::Succeeded(SteadyTime now, Micros took) {
  if (options_.slow > Micros{0} && took > options_.slow) return Failed(now);
  switch (state_) {
    case State::kClosed:
      ++StretchAt(now).ended;
      is_failing_ = false;
      return;
    case State::kHalfOpen:
      if (in_flight_ > 0) --in_flight_;
      if (++succeeded_ >= options_.successes) Close();
      return;
    case State::kOpen:  // A call from before it opened.
      TryNow();
      return;
  }
}

void Breaker::Failed(SteadyTime now) {
  switch (state_) {
    case State::kClosed: {
      Stretch& stretch = StretchAt(now);
      ++stretch.ended;
      ++stretch.failed;
      if (!is_failing_) failing_since_ = now;
      is_failing_ = true;
      const bool for_long = now - failing_since_ >= options_.all_failing;
      if (options_.enabled && (for_long || HasFailedTooOften(now))) Open(now);
      return;
    }
    case State::kHalfOpen:
      return Open(now);
    case State::kOpen:
      return;
  }
}

void Breaker::Abandoned() {
  if (state_ == State::kHalfOpen && in_flight_ > 0) --in_flight_;
}

void Breaker::TryNow() {
  if (state_ != State::kOpen) return;
  state_ = State::kHalfOpen;
  in_flight_ = 0;
  succeeded_ = 0;
}

std::int64_t Breaker::NumberAt(SteadyTime now) const {
  return now.time_since_epoch() / std::max(options_.window / kStretches, Micros{1});
}

Breaker::Stretch& Breaker::StretchAt(SteadyTime now) {
  const std::int64_t number = NumberAt(now);
  Stretch& stretch = stretches_[static_cast<std::size_t>(number % kStretches)];
  if (stretch.number != number) stretch = {.number = number};
  return stretch;
}

bool Breaker::HasFailedTooOften(SteadyTime now) const {
  const std::int64_t oldest = NumberAt(now) - kStretches;
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  for (const Stretch& stretch : stretches_) {
    if (stretch.number <= oldest) continue;
    ended += stretch.ended;
    failed += stretch.failed;
  }
  return failed >= options_.failures && failed * 100 >= ended * options_.least_percent;
}

void Breaker::Open(SteadyTime now) {
  state_ = State::kOpen;
  ++opened_;
  try_at_ = now + options_.pause;
}

void Breaker::Close() {
  state_ = State::kClosed;
  is_failing_ = false;
  stretches_ = {};
}

std::string_view NameOf(Breaker::State state) {
  switch (state) {
    case Breaker::State::kClosed:
      return "closed";
    case Breaker::State::kOpen:
      return "open";
    case Breaker::State::kHalfOpen:
      return "half_open";
  }
  return "";
}

}  // namespace sluice::redis
