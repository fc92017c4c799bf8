#include "api/call_fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "answer/rate_limit_headers.h"
#include "api/decision_body.h"
#include "wire/http_name.h"

namespace sluice::api {
namespace {

using wire::HttpResponse;

constexpr std::string_view kJson = "application/json";

struct AlgorithmName {
  std::string_view name;
  Algorithm algorithm;
};

constexpr std::array kAlgorithms = std::to_array<AlgorithmName>({
    {"token_bucket", Algorithm::kTokenBucket},
    {"leaky_bucket", Algorithm::kLeakyBucket},
    {"fixed_window", Algorithm::kFixedWindow},
    {"sliding_window", Algorithm::kSlidingWindowLog},
    {"sliding_window_log", Algorithm::kSlidingWindowLog},
    {"sliding_window_counter", Algorithm::kSlidingWindowCounter},
    {"concurrency", Algorithm::kConcurrency},
});

void Respond(HttpCall& call, int status, const HttpAnswer& answer, std::string& out) {
  HttpLoop& loop = call.loop;
  HttpCall::Part& part = call.part(0);
  const WallTime now = loop.host().now();
  HttpResponse response(out, status, loop.host().http_date(), call.asked);
  if (answer.is_problem) {
    if (answer.status == 503) response.Add("Retry-After", 1);
    return FinishWithProblem(ProblemOf(part.question, answer, part.cost_name), response);
  }
  const Micros wait = WaitOf(part.question);
  AddRateLimitHeaders(part.question, now, loop.options().header_style,
                      wait > Micros{0} ? loop.Jitter(wait) : Micros{0}, response);
  AppendDecision(part, answer, now, response.BeginBody(kJson));
  response.EndBody();
}

}  // namespace

bool IsKey(std::string_view key) {
  if (key.empty() || key.size() > kMaxClientKeyBytes) return false;
  return std::none_of(key.begin(), key.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

Problem BadKey(std::string_view field) {
  return {.code = ProblemCode::kInvalidKey, .field = std::string(field)};
}

std::optional<std::int64_t> ParseCost(std::string_view text) {
  std::int64_t cost = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (cost < 1 || cost > kMaxAmount) return std::nullopt;
  return cost;
}

Problem BadCost(std::string_view field, std::string_view found) {
  Problem problem{.code = ProblemCode::kInvalidTokenCost,
                  .field = std::string(field),
                  .detail = "must be a whole number between 1 and " + std::to_string(kMaxAmount)};
  constexpr std::size_t kShown = 80;
  problem.detail.append(", found '").append(found.substr(0, kShown)).append("'");
  return problem;
}

std::optional<Algorithm> FindAlgorithm(std::string_view name) {
  for (const AlgorithmName& one : kAlgorithms) {
    if (EqualIgnoringCase(one.name, name)) return one.algorithm;
  }
  return std::nullopt;
}

Problem BadAlgorithm(std::string_view field, std::string_view found) {
  Problem problem{.code = ProblemCode::kInvalidAlgorithm, .field = std::string(field)};
  problem.detail.append("`").append(found);
  problem.detail.append(
      "` is none of TOKEN_BUCKET, LEAKY_BUCKET, FIXED_WINDOW, SLIDING_WINDOW and "
      "SLIDING_WINDOW_COUNTER");
  return problem;
}

std::string_view CheckScope(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return ":check:TOKEN_BUCKET";
    case Algorithm::kLeakyBucket:
      return ":check:LEAKY_BUCKET";
    case Algorithm::kFixedWindow:
      return ":check:FIXED_WINDOW";
    case Algorithm::kSlidingWindowLog:
      return ":check:SLIDING_WINDOW";
    case Algorithm::kSlidingWindowCounter:
      return ":check:SLIDING_WINDOW_COUNTER";
    case Algorithm::kConcurrency:
      return ":check:CONCURRENCY";
  }
  return {};
}

void AnswerCheck(HttpCall& call, std::string& out) {
  const HttpAnswer answer = AnswerTo(call.part(0).question);
  Respond(call, answer.status, answer, out);
}

void AnswerLook(HttpCall& call, std::string& out) {
  const HttpAnswer answer = AnswerToLook(call.part(0).question);
  Respond(call, answer.is_problem ? answer.status : 200, answer, out);
}

bool WasDone(HttpCall& call, std::string& out) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    const limiter::Question& question = call.part(i).question;
    if (question.ruling != Ruling::kInvalid && question.ruling != Ruling::kDegraded) continue;
    const ProblemCode code = ProblemCodeOf(question.error);
    HttpResponse response(out, KindOf(code).status, call.loop.host().http_date(), call.asked);
    FinishWithProblem({.code = code}, response);
    return false;
  }
  return true;
}

}  // namespace sluice::api
