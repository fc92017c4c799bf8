#include "api/http/problem_response.h"

namespace sluice::api {

using enum ProblemCode;

void FinishWithProblem(const Problem& problem, wire::HttpResponse& response) {
  AppendProblem(problem, response.BeginBody(kProblemType));
  response.EndBody();
}

Problem ProblemOf(const wire::HttpError& error) {
  for (const ProblemCode code : {kBodyTooLarge, kUriTooLong, kExpectationFailed, kHeadersTooLarge,
                                 kNotImplemented, kHttpVersionNotSupported}) {
    if (KindOf(code).status == error.status) {
      return {.code = code, .detail = std::string(error.reason)};
    }
  }
  return {.code = kMalformedRequest, .detail = std::string(error.reason)};
}

}  // namespace sluice::api
