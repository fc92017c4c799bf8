#include "answer/http_answer.h"

#include <algorithm>

#include "answer/refusal_text.h"
#include "base/wide_math.h"
#include "match/refused_cost.h"

namespace sluice {
namespace {

using limiter::CheckRequest;

constexpr std::string_view kBackendError =
    "Service temporarily unavailable (rate limiter backend error)";

bool RejectsAll(const CheckRequest& check) {
  const rules::NamedLimit* limit = check.matched(check.decision.index).limit;
  return limit != nullptr && limit->reject_all;
}

bool LacksAttribute(const CheckRequest& check) {
  return RejectsAll(check) && check.matched(check.decision.index).limit->is_for_missing;
}

HttpAnswer Denied(const CheckRequest& check) {
  if (LacksAttribute(check)) {
    const ProblemCode code = ProblemCode::kMissingAttribute;
    return {KindOf(code).status, code, false, KindOf(code).meaning};
  }
  if (check.decision.tightest.outcome == Outcome::kNeverFits && !check.degraded &&
      !RejectsAll(check)) {
    return {400, ProblemCode::kCostExceedsLimit, true, {}};
  }
  return {429, ProblemCode::kRateLimitExceeded, false, "Rate limit exceeded"};
}

HttpAnswer Degraded(const CheckRequest& check) {
  const ProblemCode code = ProblemCodeOf(check.error);
  if (check.uses().empty()) return {503, code, true, {}};
  const std::size_t index = check.decision.index;
  const rules::Rule* const rule = check.matched(index).rule;
  const bool enforced = check.uses()[index].mode != Mode::kShadow;
  if (rule == nullptr && enforced) return {503, code, true, {}};
  if (check.allowed) return {200, {}, false, "Request allowed"};
  const bool closed = check.full == limiter::FullOutcome::kClosed ||
                      rule->on_store_failure == rules::OnStoreFailure::kClosed;
  if (closed) {
    return {503, code, false, kBackendError};
  }
  return Denied(check);
}

// Whether a live entry has replaced the numbers of a rule's limit, and with them its period.
bool HasOtherPeriod(const LimitNumbers& numbers, const rules::NamedLimit& named) {
  const LimitNumbers& own = named.limit.numbers();
  if (named.reject_all || numbers == own) return false;
  if (own.rate_num == 0) return numbers.window != own.window;
  return Wide{numbers.cap} * numbers.rate_den * own.rate_num !=
         Wide{own.cap} * own.rate_den * numbers.rate_num;
}

// Whether an attribute of the call said what it costs.
bool IsByAttribute(const CheckRequest& check, std::size_t use) {
  const rules::NamedLimit* const limit = check.matched(use).limit;
  return limit != nullptr && !limit->cost.constant && !limit->cost.attribute.empty() &&
         check.Find(limit->cost.attribute).has_value();
}

}  // namespace

HttpAnswer AnswerTo(const CheckRequest& check) {
  switch (check.ruling) {
    case Ruling::kDecided:
      break;
    case Ruling::kDegraded:
      return Degraded(check);
    case Ruling::kInvalid:
      return {400, ProblemCodeOf(check.error), true, {}};
    case Ruling::kDenyListed:
      return {403, ProblemCode::kDenyListed, false, KindOf(ProblemCode::kDenyListed).meaning};
    case Ruling::kBlocked: {
      const ProblemCode code = check.entry()->entry.status == match::Entry::kTooManyRequests
                                   ? ProblemCode::kTemporarilyBlocked
                                   : ProblemCode::kBlocked;
      return {KindOf(code).status, code, false, KindOf(code).meaning};
    }
    case Ruling::kNoRule:
      if (!check.allowed) {
        return {403, ProblemCode::kNoRule, false, KindOf(ProblemCode::kNoRule).meaning};
      }
      break;
    case Ruling::kAllowListed:
    case Ruling::kNotEnforced:
    case Ruling::kExempted:
      break;
  }
  if (!check.allowed) return Denied(check);
  return {200, {}, false, "Request allowed"};
}

HttpAnswer AnswerToLook(const CheckRequest& check) {
  HttpAnswer answer = AnswerTo(check);
  if (answer.code == ProblemCode::kCostExceedsLimit && answer.is_problem) {
    answer.is_problem = false;
    answer.message = KindOf(answer.code).meaning;
  }
  return answer;
}

Problem ProblemOf(const CheckRequest& check, const HttpAnswer& answer, std::string_view cost_name) {
  Problem problem{.code = answer.code};
  const match::CostRefusal* const refusal = check.refusal();
  const bool is_refused =
      check.ruling == Ruling::kInvalid && refusal != nullptr && check.error == refusal->error;
  if (is_refused && check.is_by_quantity()) {
    problem.field = "use";
    if (!refusal->quantity.empty()) problem.field.append(".").append(refusal->quantity);
    problem.detail = match::Describe(*refusal);
  } else if (is_refused) {
    problem.field = refusal->attribute.empty() ? cost_name : refusal->attribute;
    problem.detail = match::Describe(*refusal);
  } else if (answer.code == ProblemCode::kCostExceedsLimit && !check.uses().empty()) {
    const std::size_t index = check.decision.index;
    problem.detail = NeverFits(check, index);
    problem.field = check.is_by_quantity()        ? "use"
                    : IsByAttribute(check, index) ? check.matched(index).limit->cost.attribute
                                                  : std::string(cost_name);
  }
  return problem;
}

std::int64_t SecondsOf(Micros wait) { return CeilDiv(wait.count(), 1'000'000); }

std::int64_t MillisOf(Micros wait) { return CeilDiv(wait.count(), 1'000); }

Micros WaitOf(const Verdict& verdict) {
  if (verdict.outcome == Outcome::kAllowed) return Micros{0};
  if (verdict.outcome == Outcome::kNeverFits) return Micros{-1};
  return std::max(verdict.retry_after, Micros{1});
}

Micros WaitOf(const CheckRequest& check) {
  if (check.allowed) return Micros{0};
  if (check.ruling == Ruling::kBlocked) return check.block_rest;
  if (check.uses().empty()) return Micros{-1};
  return WaitOf(check.decision.tightest);
}

Micros WindowOf(const CheckRequest& check, std::size_t use) {
  const rules::NamedLimit* const named = check.matched(use).limit;
  const LimitNumbers& numbers = check.uses()[use].limit->numbers();
  if (named != nullptr && named->window != Micros{0} && !HasOtherPeriod(numbers, *named)) {
    return named->window;
  }
  if (numbers.algorithm == Algorithm::kConcurrency) return Micros{0};
  if (numbers.rate_num == 0) return numbers.window;
  // A bucket: how long it takes to fill.
  const Wide time = (Wide{numbers.cap} * numbers.rate_den + numbers.rate_num - 1) /
                    numbers.rate_num * numbers.interval.count();
  return Micros{static_cast<std::int64_t>(std::min(time, Wide{kMaxWait.count()}))};
}

}  // namespace sluice
