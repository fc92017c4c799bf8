#include "api/http/caller_answer.h"

#include "answer/denial.h"
#include "answer/http_answer.h"
#include "answer/rate_limit_headers.h"
#include "api/http/loop.h"
#include "api/http/problem_response.h"

namespace sluice::api {
namespace {

wire::HttpResponse Begin(HttpLoop& loop, const wire::HttpResponseOptions& options, Reader reader,
                         int status, std::string& out) {
  const bool is_hidden = reader == Reader::kNginx && status != 200;
  wire::HttpResponse response(out, is_hidden ? 403 : status, loop.services().http_date(), options);
  if (reader != Reader::kCaller) response.Add("X-Sluice-Status", status);
  return response;
}

}  // namespace

void AnswerCaller(HttpCall& call, Reader reader, std::string_view body, std::string& out) {
  HttpLoop& loop = call.loop;
  const limiter::CheckRequest& check = call.part(0).check;
  const HttpAnswer answer = AnswerTo(check);
  if (answer.is_problem) {
    wire::HttpResponse response = Begin(loop, call.response_options, reader, answer.status, out);
    if (answer.status == 503) response.Add("Retry-After", 1);
    return FinishWithProblem(ProblemOf(check, answer), response);
  }
  const WallTime now = loop.services().now();
  const bool passes = answer.status == 200;
  const std::string_view id = passes ? std::string_view() : loop.DenialIdOf(check);
  const bool in_body = loop.options().denial_id_in_body;
  const Denial denial(check, answer, call.wants_problem, in_body ? id : std::string_view(),
                      loop.options().header_style);
  wire::HttpResponse response =
      Begin(loop, call.response_options, reader, passes ? 200 : denial.status(), out);
  const Micros wait = WaitOf(check);
  AddRateLimitHeaders(check, now, loop.options().header_style,
                      wait > Micros{0} ? loop.Jitter(wait) : Micros{0}, response);
  if (passes) return response.Finish("application/json", body);
  if (!id.empty() && loop.options().denial_id_in_header) response.Add(kDenialIdHeader, id);
  denial.AddHeaders(response);
  denial.AppendBody(now, response.BeginBody(denial.content_type()));
  response.EndBody();
}

void RefuseCaller(const HttpExchange& exchange, Reader reader, const Problem& problem) {
  wire::HttpResponse response = Begin(exchange.loop, exchange.response_options, reader,
                                      KindOf(problem.code).status, exchange.out);
  if (problem.code == ProblemCode::kInvalidToken) {
    response.Add("WWW-Authenticate", kInvalidTokenChallenge);
  }
  FinishWithProblem(problem, response);
}

bool AsksForProblems(const wire::HttpRequest& request) {
  return request.Get(wire::HttpName::kAccept).find(kProblemType) != std::string_view::npos;
}

}  // namespace sluice::api
