#include "penalty/policy.h"

#include <algorithm>

namespace sluice::penalty {
namespace {

// A duration plus up to `jitter` hundredths of a percent of it.
Micros WithJitter(Micros duration, std::uint32_t jitter, std::uint64_t random) {
  const Micros most = duration / rules::Penalty::kWholeJitter * jitter;
  if (most <= Micros{0}) return duration;
  return duration +
         Micros(static_cast<std::int64_t>(random % (static_cast<std::uint64_t>(most.count()) + 1)));
}

}  // namespace

std::optional<NextPenalty> PenaltyAfter(const std::optional<PastPenalty>& past,
                                        const rules::Penalty& penalty, WallTime now,
                                        std::uint64_t random) {
  if (past && now < past->until) return std::nullopt;
  std::int64_t step = 0;
  if (past) {
    const std::int64_t forgotten = (now - past->until) / penalty.forget;
    step = std::max<std::int64_t>(std::int64_t{past->step} - forgotten, 0);
  }
  step = std::min<std::int64_t>(step + 1, static_cast<std::int64_t>(penalty.steps.size()));
  NextPenalty next{.step = static_cast<std::uint32_t>(step),
                   .offenses = past ? past->offenses + 1 : 1};
  const Micros duration = penalty.steps[static_cast<std::size_t>(step - 1)];
  next.until = now + WithJitter(duration, penalty.jitter, random);
  next.forgotten_at = next.until + penalty.forget * step;
  return next;
}

}  // namespace sluice::penalty
