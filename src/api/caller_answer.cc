#include "api/caller_answer.h"

#include "answer/denial.h"
#include "answer/http_answer.h"
#include "answer/rate_limit_headers.h"
#include "api/http_loop.h"
#include "api/problem_response.h"

namespace sluice::api {
namespace {

constexpr std::string_view kJson = "application/json";

wire::HttpResponse Begin(HttpLoop& loop, const wire::HttpAsked& asked, Reader reader, int status,
                         std::string& out) {
  const bool is_hidden = reader == Reader::kNginx && status != 200;
  wire::HttpResponse response(out, is_hidden ? 403 : status, loop.host().http_date(), asked);
  if (reader != Reader::kCaller) response.Add("X-Sluice-Status", status);
  return response;
}

}  // namespace

void AnswerCaller(HttpCall& call, Reader reader, std::string_view body, std::string& out) {
  HttpLoop& loop = call.loop;
  const limiter::Question& question = call.part(0).question;
  const HttpAnswer answer = AnswerTo(question);
  if (answer.is_problem) {
    wire::HttpResponse response = Begin(loop, call.asked, reader, answer.status, out);
    if (answer.status == 503) response.Add("Retry-After", 1);
    return FinishWithProblem(ProblemOf(question, answer), response);
  }
  const WallTime now = loop.host().now();
  const Denial denial(question, answer, call.wants_problem);
  const bool passes = answer.status == 200;
  wire::HttpResponse response =
      Begin(loop, call.asked, reader, passes ? 200 : denial.status(), out);
  const Micros wait = WaitOf(question);
  AddRateLimitHeaders(question, now, loop.options().header_style,
                      wait > Micros{0} ? loop.Jitter(wait) : Micros{0}, response);
  if (passes) return response.Finish(kJson, body);
  denial.AddHeaders(response);
  denial.AppendBody(now, response.BeginBody(denial.content_type()));
  response.EndBody();
}

void RefuseCaller(const HttpExchange& exchange, Reader reader, const Problem& problem) {
  wire::HttpResponse response =
      Begin(exchange.loop, exchange.asked, reader, KindOf(problem.code).status, exchange.out);
  if (problem.code == ProblemCode::kInvalidToken) {
    response.Add("WWW-Authenticate", kInvalidTokenChallenge);
  }
  FinishWithProblem(problem, response);
}

bool AsksForProblems(const wire::HttpRequest& request) {
  return request.Get(wire::HttpName::kAccept).find(kProblemType) != std::string_view::npos;
}

}  // namespace sluice::api
