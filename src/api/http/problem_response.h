#pragma once

#include "answer/problem.h"
#include "wire/http_limits.h"
#include "wire/http_response.h"

namespace sluice::api {

/// Ends a response with a problem.
void FinishWithProblem(const Problem& problem, wire::HttpResponse& response);

/// The problem of a request that could not be parsed.
[[nodiscard]] Problem ProblemOf(const wire::HttpError& error);

}  // namespace sluice::api
