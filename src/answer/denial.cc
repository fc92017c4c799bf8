#include "answer/denial.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "answer/problem.h"
#include "answer/provider_style.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "rules/limit_text.h"

namespace sluice {
namespace {

using limiter::CheckRequest;

// "1 request", "2 requests": what is counted is named in the plural.
std::string Counted(std::int64_t number, std::string_view what) {
  const bool has_plural_s = what.size() > 1 && what.ends_with('s') && !what.ends_with("ss");
  if (number == 1 && has_plural_s) what.remove_suffix(1);
  return std::to_string(number).append(" ").append(what);
}

struct DetailNumbers {
  std::int64_t limit;
  std::int64_t window_seconds;
  std::int64_t retry_after_seconds;  ///< -1: waiting does not help.
  std::string reset_at;
};

DetailNumbers DetailsOf(const CheckRequest& check, WallTime now) {
  const Verdict& verdict = check.decision.tightest;
  const Micros wait = WaitOf(check);
  const Micros reset = std::max({verdict.reset_after, wait, Micros{0}});
  return {.limit = verdict.limit,
          .window_seconds = SecondsOf(WindowOf(check, check.decision.index)),
          .retry_after_seconds = wait < Micros{0} ? -1 : SecondsOf(wait),
          .reset_at = FormatTimestamp(
              std::chrono::ceil<std::chrono::seconds>(now + std::min<Micros>(reset, kMaxWindow)))};
}

void AppendDetails(const CheckRequest& check, WallTime now, JsonWriter& json) {
  const DetailNumbers numbers = DetailsOf(check, now);
  json.Key("limit").Int(numbers.limit);
  json.Key("window_seconds").Int(numbers.window_seconds);
  json.Key("retry_after_seconds").Int(numbers.retry_after_seconds);
  json.Key("reset_at").String(numbers.reset_at);
}

void AppendError(const CheckRequest& check, const HttpAnswer& answer, WallTime now,
                 std::string_view id, std::string& out) {
  JsonWriter json(out);
  json.BeginObject().Key("error").BeginObject();
  json.Key("code").String(KindOf(answer.code).name);
  json.Key("message").String(DenialMessage(check, answer));
  if (!id.empty()) json.Key("denial_id").String(id);
  if (ReportedUse(check) != nullptr) {
    json.Key("details").BeginObject();
    AppendDetails(check, now, json);
    json.EndObject();
  }
  json.EndObject().EndObject();
}

void AppendErrorAsProblem(const CheckRequest& check, const HttpAnswer& answer, WallTime now,
                          std::string_view id, std::string& out) {
  AppendProblem({.code = answer.code, .detail = DenialMessage(check, answer)}, out);
  if (ReportedUse(check) == nullptr) return;
  const match::MatchedLimit& matched = check.matched(check.decision.index);
  out.pop_back();  // More members follow.
  std::string more;
  JsonWriter json(more);
  json.BeginObject();
  if (matched.rule != nullptr) {
    json.Key("violated-policies").BeginArray();
    json.String(matched.rule->id + ":" + matched.limit->name).EndArray();
  }
  if (!id.empty()) json.Key("denial_id").String(id);
  AppendDetails(check, now, json);
  json.EndObject();
  out.append(",").append(more, 1);
}

const rules::Denial* CustomOf(const CheckRequest& check, const HttpAnswer& answer) {
  if (answer.code != ProblemCode::kRateLimitExceeded || ReportedUse(check) == nullptr) {
    return nullptr;
  }
  const rules::Rule* const rule = check.matched(check.decision.index).rule;
  return rule != nullptr && rule->denial ? &*rule->denial : nullptr;
}

// Appends `text` with its places filled in.
void AppendFilledIn(std::string_view text, const CheckRequest& check, WallTime now,
                    std::string_view id, std::string& out) {
  const DetailNumbers numbers = DetailsOf(check, now);
  const std::array<std::pair<std::string_view, std::string>, 6> places = {{
      {"{rule}", check.matched(check.decision.index).rule->id},
      {"{limit}", std::to_string(numbers.limit)},
      {"{window_seconds}", std::to_string(numbers.window_seconds)},
      {"{retry_after_seconds}", std::to_string(numbers.retry_after_seconds)},
      {"{reset_at}", numbers.reset_at},
      {"{denial_id}", std::string(id)},
  }};
  for (std::size_t at = 0; at < text.size();) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const auto& one) {
      return text.substr(at).starts_with(one.first);
    });
    if (place == places.end()) {
      out += text[at++];
    } else {
      out += place->second;
      at += place->first.size();
    }
  }
}

}  // namespace

std::string DenialMessage(const CheckRequest& check, const HttpAnswer& answer) {
  if (answer.code != ProblemCode::kRateLimitExceeded || ReportedUse(check) == nullptr) {
    return std::string(answer.message);
  }
  const Verdict& verdict = check.decision.tightest;
  const rules::NamedLimit* const limit = check.matched(check.decision.index).limit;
  const Micros window = WindowOf(check, check.decision.index);
  std::string message =
      limit != nullptr && rules::CountsMoney(*limit)
          ? "Budget of " + rules::DollarText(verdict.limit)
          : "Rate limit of " +
                Counted(verdict.limit, limit == nullptr ? rules::kRequests : limit->type);
  if (window > Micros{0}) message += " per " + Counted(SecondsOf(window), "seconds");
  return message + " exceeded";
}

Denial::Denial(const CheckRequest& check, const HttpAnswer& answer, bool wants_problem,
               std::string_view id, HeaderStyle style)
    : check_(check),
      answer_(answer),
      wants_problem_(wants_problem),
      id_(id),
      style_(style),
      custom_(CustomOf(check, answer)) {}

int Denial::status() const {
  return custom_ != nullptr && custom_->status != 0 ? custom_->status : answer_.status;
}

void Denial::AddHeaders(HeaderSink& headers) const {
  if (custom_ == nullptr) return;
  for (const auto& [name, value] : custom_->headers) headers.Add(name, value);
}

std::string_view Denial::content_type() const {
  if (custom_ != nullptr && custom_->body) return custom_->content_type;
  return wants_problem_ ? kProblemType : "application/json";
}

void Denial::AppendBody(WallTime now, std::string& out) const {
  if (custom_ != nullptr && custom_->body) {
    AppendFilledIn(*custom_->body, check_, now, id_, out);
  } else if (wants_problem_) {
    AppendErrorAsProblem(check_, answer_, now, id_, out);
  } else if (IsOfProvider(style_)) {
    out += '{';
    AppendProviderError(check_, answer_, style_, DenialMessage(check_, answer_), id_, out);
    out += '}';
  } else {
    AppendError(check_, answer_, now, id_, out);
  }
}

}  // namespace sluice
