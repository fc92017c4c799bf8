#include "answer/http_answer.h"

#include <algorithm>

#include "answer/refusal_text.h"
#include "base/wide_math.h"
#include "rules/refused_cost.h"

namespace sluice {
namespace {

using limiter::Question;

constexpr std::string_view kBackendError =
    "Service temporarily unavailable (rate limiter backend error)";

bool RejectsAll(const Question& question) {
  const rules::NamedLimit* limit = question.met(question.headline.index).limit;
  return limit != nullptr && limit->reject_all;
}

HttpAnswer Denied(const Question& question) {
  if (question.headline.headline.outcome == Outcome::kNeverFits && !question.degraded &&
      !RejectsAll(question)) {
    return {400, ProblemCode::kCostExceedsLimit, true, {}};
  }
  return {429, ProblemCode::kRateLimitExceeded, false, "Rate limit exceeded"};
}

HttpAnswer Degraded(const Question& question) {
  const ProblemCode code = ProblemCodeOf(question.error);
  if (question.uses().empty()) return {503, code, true, {}};
  const std::size_t index = question.headline.index;
  const rules::Rule* const rule = question.met(index).rule;
  const bool enforced = question.uses()[index].mode != Mode::kShadow;
  if (rule == nullptr && enforced) return {503, code, true, {}};
  if (question.allowed) return {200, {}, false, "Request allowed"};
  if (rule->on_store_failure == rules::OnStoreFailure::kClosed) {
    return {503, code, false, kBackendError};
  }
  return Denied(question);
}

// Whether an attribute of the call said what it costs.
bool IsByAttribute(const Question& question, std::size_t use) {
  const rules::NamedLimit* const limit = question.met(use).limit;
  return limit != nullptr && !limit->cost.constant && !limit->cost.attribute.empty() &&
         question.Find(limit->cost.attribute).has_value();
}

}  // namespace

HttpAnswer AnswerTo(const Question& question) {
  switch (question.ruling) {
    case Ruling::kDecided:
      break;
    case Ruling::kDegraded:
      return Degraded(question);
    case Ruling::kInvalid:
      return {400, ProblemCodeOf(question.error), true, {}};
    case Ruling::kDenyListed:
      return {403, ProblemCode::kDenyListed, false, KindOf(ProblemCode::kDenyListed).meaning};
    case Ruling::kNoRule:
      if (!question.allowed) {
        return {403, ProblemCode::kNoRule, false, KindOf(ProblemCode::kNoRule).meaning};
      }
      break;
    case Ruling::kAllowListed:
    case Ruling::kNotEnforced:
      break;
  }
  if (!question.allowed) return Denied(question);
  return {200, {}, false, "Request allowed"};
}

HttpAnswer AnswerToLook(const Question& question) {
  HttpAnswer answer = AnswerTo(question);
  if (answer.code == ProblemCode::kCostExceedsLimit && answer.is_problem) {
    answer.is_problem = false;
    answer.message = KindOf(answer.code).meaning;
  }
  return answer;
}

Problem ProblemOf(const Question& question, const HttpAnswer& answer, std::string_view cost_name) {
  Problem problem{.code = answer.code};
  if (answer.code == ProblemCode::kInvalidTokenCost) {
    const rules::CostRefusal* const refusal = question.refusal();
    if (refusal != nullptr && refusal->rule != nullptr) {
      problem.field = refusal->attribute.empty() ? cost_name : refusal->attribute;
      problem.detail = rules::Describe(*refusal);
    }
  } else if (answer.code == ProblemCode::kCostExceedsLimit && !question.uses().empty()) {
    const std::size_t index = question.headline.index;
    problem.detail = NeverFits(question, index);
    problem.field = IsByAttribute(question, index) ? question.met(index).limit->cost.attribute
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

Micros WaitOf(const Question& question) {
  if (question.allowed) return Micros{0};
  if (question.uses().empty()) return Micros{-1};
  return WaitOf(question.headline.headline);
}

Micros WindowOf(const Question& question, std::size_t use) {
  const rules::NamedLimit* const named = question.met(use).limit;
  if (named != nullptr && named->window != Micros{0}) return named->window;
  const LimitNumbers& numbers = question.uses()[use].limit->numbers();
  if (numbers.algorithm == Algorithm::kConcurrency) return Micros{0};
  if (numbers.rate_num == 0) return numbers.window;
  // A bucket: how long it takes to fill.
  const Wide time = (Wide{numbers.cap} * numbers.rate_den + numbers.rate_num - 1) /
                    numbers.rate_num * numbers.interval.count();
  return Micros{static_cast<std::int64_t>(std::min(time, Wide{kMaxWait.count()}))};
}

std::string_view PublicNameOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return "TOKEN_BUCKET";
    case Algorithm::kLeakyBucket:
      return "LEAKY_BUCKET";
    case Algorithm::kFixedWindow:
      return "FIXED_WINDOW";
    case Algorithm::kSlidingWindowLog:
      return "SLIDING_WINDOW";
    case Algorithm::kSlidingWindowCounter:
      return "SLIDING_WINDOW_COUNTER";
    case Algorithm::kConcurrency:
      return "CONCURRENCY";
  }
  return "";
}

}  // namespace sluice
