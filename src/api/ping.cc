#include <algorithm>
#include <chrono>

#include "api/call_fields.h"
#include "api/http_exchange.h"
#include "api/http_routes.h"
#include "api/rate_limit_headers.h"
#include "base/json_writer.h"

/// A sample endpoint behind the limiter.
namespace sluice::api {
namespace {

using limiter::Question;
using wire::HttpName;

std::string DateOf(WallTime time) {
  const auto second = std::chrono::ceil<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(second);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(second - day);
  std::string text;
  const auto append = [&text](std::int64_t number, std::size_t digits, std::string_view after) {
    const std::string plain = std::to_string(number);
    if (plain.size() < digits) text.append(digits - plain.size(), '0');
    text.append(plain).append(after);
  };
  append(static_cast<int>(date.year()), 4, "-");
  append(static_cast<unsigned>(date.month()), 2, "-");
  append(static_cast<unsigned>(date.day()), 2, "T");
  append(clock.hours().count(), 2, ":");
  append(clock.minutes().count(), 2, ":");
  append(clock.seconds().count(), 2, "Z");
  return text;
}

// "1 request", "2 requests": what is counted is named in the plural.
std::string Counted(std::int64_t number, std::string_view what) {
  const bool has_plural_s = what.size() > 1 && what.ends_with('s') && !what.ends_with("ss");
  if (number == 1 && has_plural_s) what.remove_suffix(1);
  return std::to_string(number).append(" ").append(what);
}

std::string MessageOf(const Question& question, const HttpAnswer& answer) {
  if (answer.code != ProblemCode::kRateLimitExceeded || SpokenOf(question) == nullptr) {
    return std::string(answer.message);
  }
  const Verdict& verdict = question.headline.headline;
  const rules::NamedLimit* const limit = question.met(question.headline.index).limit;
  const Micros window = WindowOf(question, question.headline.index);
  std::string message =
      "Rate limit of " + Counted(verdict.limit, limit == nullptr ? "requests" : limit->type);
  if (window > Micros{0}) message += " per " + Counted(SecondsOf(window), "seconds");
  return message + " exceeded";
}

void AppendDetails(const Question& question, WallTime now, JsonWriter& json) {
  const Verdict& verdict = question.headline.headline;
  const Micros wait = WaitOf(question);
  const Micros reset = std::max({verdict.reset_after, wait, Micros{0}});
  json.Key("limit").Int(verdict.limit);
  json.Key("window_seconds").Int(SecondsOf(WindowOf(question, question.headline.index)));
  json.Key("retry_after_seconds").Int(wait < Micros{0} ? -1 : SecondsOf(wait));
  json.Key("reset_at").String(DateOf(now + std::min<Micros>(reset, kMaxWindow)));
}

void AppendError(const Question& question, const HttpAnswer& answer, WallTime now,
                 std::string& out) {
  JsonWriter json(out);
  json.BeginObject().Key("error").BeginObject();
  json.Key("code").String(KindOf(answer.code).name);
  json.Key("message").String(MessageOf(question, answer));
  if (SpokenOf(question) != nullptr) {
    json.Key("details").BeginObject();
    AppendDetails(question, now, json);
    json.EndObject();
  }
  json.EndObject().EndObject();
}

void AppendErrorAsProblem(const Question& question, const HttpAnswer& answer, WallTime now,
                          std::string& out) {
  AppendProblem({.code = answer.code, .detail = MessageOf(question, answer)}, out);
  if (SpokenOf(question) == nullptr) return;
  const rules::MetLimit& met = question.met(question.headline.index);
  out.pop_back();  // More members follow.
  std::string more;
  JsonWriter json(more);
  json.BeginObject();
  if (met.rule != nullptr) {
    json.Key("violated-policies").BeginArray();
    json.String(met.rule->id + ":" + met.limit->name).EndArray();
  }
  AppendDetails(question, now, json);
  json.EndObject();
  out.append(",").append(more, 1);
}

void AnswerPing(HttpCall& call, std::string& out) {
  HttpLoop& loop = call.loop;
  const Question& question = call.part(0).question;
  const HttpAnswer answer = AnswerTo(question);
  const WallTime now = loop.host().now();
  wire::HttpResponse response(out, answer.status, loop.host().http_date(), call.asked);
  if (answer.is_problem) return FinishWithProblem(ProblemOf(question, answer), response);
  const Micros wait = WaitOf(question);
  AddRateLimitHeaders(question, now, loop.options().header_style,
                      wait > Micros{0} ? loop.Jitter(wait) : Micros{0}, response);
  if (answer.status == 200) {
    return response.Finish("application/json", question.degraded
                                                   ? R"({"message":"pong","degraded":true})"
                                                   : R"({"message":"pong"})");
  }
  if (call.wants_problem) {
    AppendErrorAsProblem(question, answer, now, response.BeginBody(kProblemType));
  } else {
    AppendError(question, answer, now, response.BeginBody("application/json"));
  }
  response.EndBody();
}

bool AsksForProblems(const wire::HttpRequest& request) {
  return request.Get(HttpName::kAccept).find(kProblemType) != std::string_view::npos;
}

}  // namespace

void RunPing(HttpExchange& exchange) {
  const wire::HttpRequest& request = exchange.request;
  const wire::HttpHeader* const key = request.Find(HttpName::kXApiKey);
  if (key != nullptr && !IsKey(key->value)) return exchange.Refuse(BadKey("X-API-Key"));
  HttpCall& call = exchange.MakeCall(AnswerPing);
  call.wants_problem = AsksForProblems(request);
  Question& question = call.Add().question;
  AddCertificate(exchange.peer, question);
  if (key != nullptr) question.Add("api_key", key->value);
  if (!exchange.peer.address.empty()) question.Add("ip", exchange.peer.address);
  question.Add("endpoint", request.path);
  question.Add("method", request.method);
}

}  // namespace sluice::api
