#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "answer/problem.h"
#include "limiter/check_request.h"
#include "limiter/decision.h"

namespace sluice {

/// A decided check as an HTTP response.
struct HttpAnswer {
  int status = 200;
  /// 400 and more: why. Else of no meaning.
  ProblemCode code{};
  /// The request itself is at fault, or can't be judged at all: the body is a problem, not a
  /// decision.
  bool is_problem = false;
  std::string_view message;
};

[[nodiscard]] HttpAnswer AnswerTo(const limiter::CheckRequest& check);

/// The same for one that only looks: it is never at fault for asking about a cost that never fits.
[[nodiscard]] HttpAnswer AnswerToLook(const limiter::CheckRequest& check);

/// The problem of a check whose answer is one. `cost_name` is what the client calls the cost.
[[nodiscard]] Problem ProblemOf(const limiter::CheckRequest& check, const HttpAnswer& answer,
                                std::string_view cost_name = "cost");

/// The tightest limit of the answer. If the store failed, only the limit itself
/// is.
[[nodiscard]] inline bool IsKnown(const limiter::CheckRequest& check) {
  return !check.degraded || check.decision.tightest.limit != 0;
}

/// Rounded up: at least 1 unless `wait` is zero.
[[nodiscard]] std::int64_t SecondsOf(Micros wait);
[[nodiscard]] std::int64_t MillisOf(Micros wait);

/// How long to wait, or a negative time: for ever. Zero of what is allowed.
[[nodiscard]] Micros WaitOf(const limiter::CheckRequest& check);
[[nodiscard]] Micros WaitOf(const Verdict& verdict);

/// The time that a limit is said to be per; 0: there is none.
[[nodiscard]] Micros WindowOf(const limiter::CheckRequest& check, std::size_t use);

}  // namespace sluice
