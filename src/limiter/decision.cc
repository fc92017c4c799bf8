#include "limiter/decision.h"

#include <algorithm>

namespace sluice::limiter {
namespace {

// Whether `a` is the tighter limit of a call that passed.
bool IsTighter(const store::KeyUse& a, const store::KeyUse& b) {
  const auto fitting = [](const store::KeyUse& use) {
    return use.verdict.remaining / std::max(use.cost, std::int64_t{1});
  };
  if (fitting(a) != fitting(b)) return fitting(a) < fitting(b);
  return a.verdict.reset_after > b.verdict.reset_after;
}

bool Hides(const match::MatchedLimit& matched) {
  return matched.rule != nullptr && !matched.rule->headers;
}

}  // namespace

Decision DecisionOf(const store::StoreCall& call, std::span<const match::MatchedLimit> matched) {
  if (call.uses.size() == 1 && call.uses[0].mode != Mode::kShadow) {
    return {.allowed = call.allowed, .tightest = call.uses[0].verdict};
  }
  const store::KeyUse* chosen = nullptr;
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    const store::KeyUse& use = call.uses[i];
    if (use.mode == Mode::kShadow) continue;
    const bool denies = use.mode != Mode::kForce && use.verdict.outcome != Outcome::kAllowed;
    if (call.allowed ? i < matched.size() && Hides(matched[i]) : !denies) continue;
    const bool better =
        chosen == nullptr || (call.allowed ? IsTighter(use, *chosen)
                                           : use.verdict.retry_after > chosen->verdict.retry_after);
    if (better) chosen = &use;
  }
  Decision decision{.allowed = call.allowed};
  if (chosen != nullptr) {
    decision.index = static_cast<std::uint16_t>(chosen - call.uses.data());
    decision.tightest = chosen->verdict;
  }
  return decision;
}

Decision DenialWithoutStore(std::span<const store::KeyUse> uses, std::size_t index) {
  return {.degraded = true,
          .index = static_cast<std::uint16_t>(index),
          .tightest = {.outcome = Outcome::kDenied,
                       .limit = uses[index].limit->cap(),
                       .retry_after = kRetryAfterUnknown}};
}

std::int64_t CapOf(const CheckRequest& check, std::size_t use) {
  const rules::NamedLimit* const named = check.matched(use).limit;
  return check.uses()[use].limit->cap() / (named == nullptr ? 1 : named->scale);
}

bool IsReported(const CheckRequest& check, std::size_t use) {
  return check.uses()[use].mode != Mode::kShadow && !Hides(check.matched(use));
}

const store::KeyUse* ReportedUse(const CheckRequest& check) {
  if (check.uses().empty()) return nullptr;
  const std::size_t index = check.decision.index;
  const store::KeyUse& use = check.uses()[index];
  const bool denies = !check.allowed && use.mode != Mode::kShadow;
  return denies || IsReported(check, index) ? &use : nullptr;
}

std::optional<std::size_t> UseInHeaders(const CheckRequest& check) {
  if (check.uses().empty()) return std::nullopt;
  if (IsReported(check, check.decision.index)) return check.decision.index;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    if (!IsReported(check, i)) continue;
    if (!chosen || IsTighter(check.uses()[i], check.uses()[*chosen])) chosen = i;
  }
  return chosen;
}

}  // namespace sluice::limiter
