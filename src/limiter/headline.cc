#include "limiter/headline.h"

#include <algorithm>

namespace sluice::limiter {
namespace {

// Whether `a` has more to say than `b` about a call that passed.
bool IsTighter(const store::Use& a, const store::Use& b) {
  const auto fitting = [](const store::Use& use) {
    return use.verdict.remaining / std::max(use.cost, std::int64_t{1});
  };
  if (fitting(a) != fitting(b)) return fitting(a) < fitting(b);
  return a.verdict.reset_after > b.verdict.reset_after;
}

}  // namespace

Decision Headline(const store::Call& call) {
  if (call.uses.size() == 1 && call.uses[0].mode != Mode::kShadow) {
    return {.allowed = call.allowed, .headline = call.uses[0].verdict};
  }
  const store::Use* chosen = nullptr;
  for (const store::Use& use : call.uses) {
    if (use.mode == Mode::kShadow) continue;
    const bool denies = use.mode == Mode::kEnforce && use.verdict.outcome != Outcome::kAllowed;
    if (!call.allowed && !denies) continue;
    const bool better =
        chosen == nullptr || (call.allowed ? IsTighter(use, *chosen)
                                           : use.verdict.retry_after > chosen->verdict.retry_after);
    if (better) chosen = &use;
  }
  Decision decision{.allowed = call.allowed};
  if (chosen != nullptr) {
    decision.index = static_cast<std::uint16_t>(chosen - call.uses.data());
    decision.headline = chosen->verdict;
  }
  return decision;
}

}  // namespace sluice::limiter
