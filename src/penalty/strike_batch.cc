#include "penalty/strike_batch.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace sluice::penalty {
namespace {

// Rules' scopes are percent-encoded, and have a colon: no rule has this one.
constexpr std::string_view kDenialScope = "_penalty:denials";
constexpr std::string_view kBackoffScope = "_penalty:backoff";

std::int64_t ThresholdOf(const rules::Penalty& penalty, OffenseKind kind) {
  return kind == OffenseKind::kDenials ? penalty.denials : penalty.ignored_backoff;
}

// Empty if the rule has no such threshold.
std::optional<StrikeCounter> CounterOf(const CountedStrike& counted, OffenseKind kind) {
  const rules::Penalty& penalty = counted.strike.penalty;
  const std::int64_t threshold = ThresholdOf(penalty, kind);
  if (threshold == 0) return std::nullopt;
  const auto limit = Limit::SlidingWindowCounter({.limit = threshold, .window = penalty.within});
  if (!limit) return std::nullopt;
  const std::string generation = std::to_string(counted.offenses);
  return StrikeCounter{
      .key = OwnedKey({.scope = kind == OffenseKind::kDenials ? kDenialScope : kBackoffScope,
                       .tag = counted.strike.offender.id,
                       .rest = generation}),
      .limit = *limit};
}

}  // namespace

std::vector<StrikeCounter> CountersOf(const CountedStrike& counted) {
  std::vector<StrikeCounter> counters;
  for (const OffenseKind kind : {OffenseKind::kDenials, OffenseKind::kIgnoredBackoff}) {
    if (auto counter = CounterOf(counted, kind)) counters.push_back(*std::move(counter));
  }
  return counters;
}

StrikeBatch::StrikeBatch(std::vector<CountedStrike> strikes,
                         std::function<void(StrikeOutcome)> done)
    : strikes_(std::move(strikes)), is_offense_(strikes_.size()), done_(std::move(done)) {
  for (std::size_t i = 0; i < strikes_.size(); ++i) {
    const Strike& strike = strikes_[i].strike;
    for (const OffenseKind kind : {OffenseKind::kDenials, OffenseKind::kIgnoredBackoff}) {
      const std::int64_t cost =
          kind == OffenseKind::kDenials ? strike.denials : strike.ignored_backoff;
      const auto counter = CounterOf(strikes_[i], kind);
      if (!counter || cost == 0) continue;
      Count& count = counts_.emplace_back(*this, i, kind);
      count.check.Clear();
      count.check.AddLimit(counter->key.view(), counter->limit,
                           std::min(cost, ThresholdOf(strike.penalty, kind)));
      count.check.SetOfRule();
      count.check.context = &count;
      count.check.on_done = [](limiter::CheckRequest& /*done*/, void* context) {
        const Count& answered = *static_cast<Count*>(context);
        answered.batch.Take(answered);
      };
    }
  }
}

void StrikeBatch::Run(limiter::Limiter& limiter, WallTime now) {
  self_ = shared_from_this();
  undone_ = counts_.size() + 1;  // One for this function.
  for (std::size_t begin = 0; begin < counts_.size(); begin += limiter::Limiter::kMostAtOnce) {
    std::array<limiter::CheckRequest*, limiter::Limiter::kMostAtOnce> batch;
    const std::size_t size = std::min(counts_.size() - begin, batch.size());
    for (std::size_t i = 0; i < size; ++i) batch[i] = &counts_[begin + i].check;
    limiter.DecideBatch({batch.data(), size}, now);
    for (std::size_t i = 0; i < size; ++i) {
      if (!batch[i]->pending()) Take(counts_[begin + i]);
    }
  }
  Done();
}

// The last strike that fits makes the number full.
void StrikeBatch::Take(const Count& count) {
  const limiter::CheckRequest& check = count.check;
  if (check.ruling == Ruling::kDecided && !check.uses().empty() &&
      check.full == limiter::FullOutcome::kNone) {
    const Verdict& verdict = check.uses()[0].verdict;
    const bool passes = verdict.outcome != Outcome::kAllowed || verdict.remaining == 0;
    if (passes && !is_offense_[count.strike]) {
      is_offense_[count.strike] = true;
      const CountedStrike& counted = strikes_[count.strike];
      outcome_.offenses.push_back(
          {.strike = counted.strike, .kind = count.kind, .offenses = counted.offenses});
    }
  } else {
    ++outcome_.failed;
  }
  Done();
}

void StrikeBatch::Done() {
  if (--undone_ > 0) return;
  const auto self = std::exchange(self_, nullptr);
  done_(std::move(outcome_));
}

}  // namespace sluice::penalty
