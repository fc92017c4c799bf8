#include "api/http/call_fields.h"

#include <algorithm>
#include <array>

#include "answer/rate_limit_headers.h"
#include "api/http/caller_answer.h"
#include "api/http/decision_body.h"
#include "base/ascii.h"
#include "base/parse_number.h"
#include "wire/http_name.h"

namespace sluice::api {
namespace {

using wire::HttpResponse;

void Respond(HttpCall& call, int status, const HttpAnswer& answer, std::string& out) {
  HttpLoop& loop = call.loop;
  HttpCall::Part& part = call.part(0);
  const WallTime now = loop.services().now();
  HttpResponse response(out, status, loop.services().http_date(), call.response_options);
  if (answer.is_problem) {
    if (answer.status == 503) response.Add("Retry-After", 1);
    return FinishWithProblem(ProblemOf(part.check, answer, part.cost_name), response);
  }
  const Micros wait = WaitOf(part.check);
  AddRateLimitHeaders(part.check, now, loop.options().header_style,
                      wait > Micros{0} ? loop.Jitter(wait) : Micros{0}, response);
  if (loop.options().denial_id_in_header) {
    const std::string_view id = loop.DenialIdOf(part.check);
    if (!id.empty()) response.Add(kDenialIdHeader, id);
  }
  AppendDecision(part, answer, now, response.BeginBody("application/json"));
  response.EndBody();
}

}  // namespace

bool IsKey(std::string_view key) {
  if (key.empty() || key.size() > kMaxClientKeyBytes) return false;
  return std::none_of(key.begin(), key.end(), IsControl);
}

Problem BadKey(std::string_view field) {
  return {.code = ProblemCode::kInvalidKey, .field = std::string(field)};
}

std::optional<std::int64_t> ParseCost(std::string_view text) {
  const auto cost = ParseNumber<std::int64_t>(text);
  return cost && *cost >= 1 && *cost <= kMaxAmount ? cost : std::nullopt;
}

Problem BadCost(std::string_view field, std::string_view found) {
  Problem problem{.code = ProblemCode::kInvalidTokenCost,
                  .field = std::string(field),
                  .detail = "must be a whole number between 1 and " + std::to_string(kMaxAmount)};
  constexpr std::size_t kShown = 80;
  problem.detail.append(", found '").append(found.substr(0, kShown)).append("'");
  return problem;
}

Problem BadAlgorithm(std::string_view field, std::string_view found) {
  Problem problem{.code = ProblemCode::kInvalidAlgorithm, .field = std::string(field)};
  problem.detail.append("`").append(found);
  problem.detail.append(
      "` is none of TOKEN_BUCKET, LEAKY_BUCKET, FIXED_WINDOW, SLIDING_WINDOW and "
      "SLIDING_WINDOW_COUNTER");
  return problem;
}

void AnswerCheck(HttpCall& call, std::string& out) {
  const HttpAnswer answer = AnswerTo(call.part(0).check);
  Respond(call, answer.status, answer, out);
}

void AnswerLook(HttpCall& call, std::string& out) {
  const HttpAnswer answer = AnswerToLook(call.part(0).check);
  Respond(call, answer.is_problem ? answer.status : 200, answer, out);
}

bool WasDone(HttpCall& call, std::string& out) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    const limiter::CheckRequest& check = call.part(i).check;
    if (check.ruling != Ruling::kInvalid && check.ruling != Ruling::kDegraded) continue;
    const ProblemCode code = ProblemCodeOf(check.error);
    HttpResponse response(out, KindOf(code).status, call.loop.services().http_date(),
                          call.response_options);
    FinishWithProblem({.code = code}, response);
    return false;
  }
  return true;
}

}  // namespace sluice::api
