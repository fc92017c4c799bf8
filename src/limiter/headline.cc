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

bool Hides(const rules::MetLimit& met) { return met.rule != nullptr && !met.rule->headers; }

}  // namespace

Decision Headline(const store::Call& call, std::span<const rules::MetLimit> met) {
  if (call.uses.size() == 1 && call.uses[0].mode != Mode::kShadow) {
    return {.allowed = call.allowed, .headline = call.uses[0].verdict};
  }
  const store::Use* chosen = nullptr;
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    const store::Use& use = call.uses[i];
    if (use.mode == Mode::kShadow) continue;
    const bool denies = use.mode != Mode::kForce && use.verdict.outcome != Outcome::kAllowed;
    if (call.allowed ? i < met.size() && Hides(met[i]) : !denies) continue;
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

bool MayBeTold(const Question& question, std::size_t use) {
  return question.uses()[use].mode != Mode::kShadow && !Hides(question.met(use));
}

const store::Use* SpokenOf(const Question& question) {
  if (question.uses().empty()) return nullptr;
  const std::size_t index = question.headline.index;
  const store::Use& use = question.uses()[index];
  const bool denies = !question.allowed && use.mode != Mode::kShadow;
  return denies || MayBeTold(question, index) ? &use : nullptr;
}

std::optional<std::size_t> ToldInHeaders(const Question& question) {
  if (question.uses().empty()) return std::nullopt;
  if (MayBeTold(question, question.headline.index)) return question.headline.index;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < question.uses().size(); ++i) {
    if (!MayBeTold(question, i)) continue;
    if (!chosen || IsTighter(question.uses()[i], question.uses()[*chosen])) chosen = i;
  }
  return chosen;
}

}  // namespace sluice::limiter
