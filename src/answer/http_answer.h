#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "answer/problem.h"
#include "limiter/headline.h"
#include "limiter/question.h"

namespace sluice {

/// What an answered check means in HTTP.
struct HttpAnswer {
  int status = 200;
  /// 400 and more: why. Else of no meaning.
  ProblemCode code{};
  /// The request itself is at fault, or can't be judged at all: the body is a problem, not a
  /// decision.
  bool is_problem = false;
  std::string_view message;
};

[[nodiscard]] HttpAnswer AnswerTo(const limiter::Question& question);

/// The same for one that only looks: it is never at fault for asking about a cost that never fits.
[[nodiscard]] HttpAnswer AnswerToLook(const limiter::Question& question);

/// The problem of a question whose answer is one. `cost_name` is what the client calls the cost.
[[nodiscard]] Problem ProblemOf(const limiter::Question& question, const HttpAnswer& answer,
                                std::string_view cost_name = "cost");

/// What is known of the use that the answer is about. Of a store that failed, nothing but the limit
/// is.
[[nodiscard]] inline bool IsKnown(const limiter::Question& question) {
  return !question.degraded || question.headline.headline.limit != 0;
}

/// Rounded up; at least 1 of what is not nothing.
[[nodiscard]] std::int64_t SecondsOf(Micros wait);
[[nodiscard]] std::int64_t MillisOf(Micros wait);

/// How long to wait, or a negative time: for ever. Zero of what is allowed.
[[nodiscard]] Micros WaitOf(const limiter::Question& question);
[[nodiscard]] Micros WaitOf(const Verdict& verdict);

/// The time that a limit is said to be per; 0: there is none.
[[nodiscard]] Micros WindowOf(const limiter::Question& question, std::size_t use);

/// "TOKEN_BUCKET"; the log is "SLIDING_WINDOW".
[[nodiscard]] std::string_view PublicNameOf(Algorithm algorithm);

}  // namespace sluice
