#include "api/http/decision_body.h"

#include <algorithm>
#include <utility>

#include "algo/algorithm_info.h"
#include "answer/denial.h"
#include "answer/provider_style.h"
#include "api/http/json_text.h"
#include "api/http/loop.h"
#include "api/receipt_call.h"
#include "limiter/decision.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;

constexpr std::size_t kDecisionRoom = 512;
constexpr std::size_t kLimitRoom = 384;

std::int64_t SecondsOrNever(Micros wait) { return wait < Micros{0} ? -1 : SecondsOf(wait); }
std::int64_t MillisOrNever(Micros wait) { return wait < Micros{0} ? -1 : MillisOf(wait); }

std::size_t RoomFor(const match::MatchedLimit& matched) {
  if (matched.rule == nullptr) return kLimitRoom;
  return kLimitRoom + JsonText::RoomFor(matched.rule->id) + JsonText::RoomFor(matched.limit->name) +
         JsonText::RoomFor(matched.limit->type);
}

void AppendLimit(const CheckRequest& check, std::size_t i, JsonText& text) {
  const store::KeyUse& use = check.uses()[i];
  const match::MatchedLimit& matched = check.matched(i);
  const Verdict& verdict = use.verdict;
  const Micros wait = WaitOf(verdict);
  // If the state is unknown, only the limit is reported.
  const bool known = !check.degraded || verdict.remaining > 0 || wait != Micros{0} ||
                     verdict.reset_after != Micros{0};
  if (matched.rule != nullptr) {
    text.Raw(R"({"rule":)").Quoted(matched.rule->id);
    text.Raw(R"(,"name":)").Quoted(matched.limit->name);
    text.Raw(R"(,"type":)").Quoted(matched.limit->type);
  } else {
    text.Raw(R"({"rule":null,"name":null,"type":"requests")");
  }
  text.Raw(R"(,"algorithm":")").RawText(algo::InfoOf(use.limit->algorithm()).public_name);
  text.Raw(R"(","allowed":)").Bool(verdict.outcome == Outcome::kAllowed);
  text.Raw(R"(,"limit":)").Int(verdict.limit);
  text.Raw(R"(,"remaining":)").Int(known ? verdict.remaining : -1);
  text.Raw(R"(,"cost":)").Int(use.cost);
  text.Raw(R"(,"resetAfterSeconds":)").Int(SecondsOf(verdict.reset_after));
  text.Raw(R"(,"retryAfterMs":)").Int(MillisOrNever(wait));
  text.Raw(R"(,"delayMs":)").Int(MillisOf(verdict.delay));
  text.Raw(R"(,"shadow":)").Bool(use.mode == Mode::kShadow).Raw("}");
}

// A rule with `headers: false` is named only where it denies.
bool Hides(const CheckRequest& check, std::size_t i) {
  const store::KeyUse& use = check.uses()[i];
  const rules::Rule* const rule = check.matched(i).rule;
  if (rule == nullptr || rule->headers) return false;
  return use.mode == Mode::kShadow || use.verdict.outcome == Outcome::kAllowed;
}

void AppendLimits(const CheckRequest& check, JsonText& text) {
  text.Raw("[");
  bool is_first = true;
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    if (Hides(check, i)) continue;
    if (!std::exchange(is_first, false)) text.Raw(",");
    AppendLimit(check, i, text);
  }
  text.Raw("]");
}

void AppendVerdicts(const CheckRequest& check, std::string_view key, const HttpAnswer& answer,
                    std::string& out) {
  const store::KeyUse* const use = ReportedUse(check);
  const rules::Rule* const rule =
      use == nullptr ? nullptr : check.matched(check.decision.index).rule;
  const bool known = use != nullptr && IsKnown(check);
  const Verdict& verdict = check.decision.tightest;
  const Micros wait = WaitOf(check);
  const std::string_view rule_id = rule == nullptr ? std::string_view{} : rule->id;
  std::size_t room =
      kDecisionRoom + JsonText::RoomFor(key) + JsonText::RoomFor(rule_id) + answer.message.size();
  for (std::size_t i = 0; i < check.uses().size(); ++i) room += RoomFor(check.matched(i));
  JsonText text(out, room);
  text.Raw(R"({"allowed":)").Bool(check.allowed).Raw(R"(,"key":)").Quoted(key);
  if (use != nullptr) {
    text.Raw(R"(,"algorithm":")")
        .RawText(algo::InfoOf(use->limit->algorithm()).public_name)
        .Raw("\"");
  } else {
    text.Raw(R"(,"algorithm":null)");
  }
  text.Raw(R"(,"remaining":)").Int(known ? verdict.remaining : -1);
  text.Raw(R"(,"resetAfterSeconds":)").Int(known ? SecondsOf(verdict.reset_after) : 0);
  text.Raw(R"(,"retryAfterSeconds":)").Int(SecondsOrNever(wait));
  text.Raw(R"(,"message":")").RawText(answer.message);
  text.Raw(R"(","limit":)")
      .Int(use == nullptr ? -1
           : known        ? verdict.limit
                          : limiter::CapOf(check, check.decision.index));
  text.Raw(R"(,"retryAfterMs":)").Int(MillisOrNever(wait));
  text.Raw(R"(,"delayMs":)").Int(known ? MillisOf(verdict.delay) : 0);
  if (rule != nullptr) {
    text.Raw(R"(,"rule":)").Quoted(rule_id);
  } else {
    text.Raw(R"(,"rule":null)");
  }
  text.Raw(R"(,"degraded":)").Bool(check.degraded);
  if (answer.status != 200) {
    text.Raw(R"(,"code":")").RawText(KindOf(answer.code).name).Raw("\"");
  }
  text.Raw(R"(,"limits":)");
  AppendLimits(check, text);
}

}  // namespace

void AppendDecision(HttpCall::Part& part, const HttpAnswer& answer, WallTime now,
                    std::string& out) {
  AppendVerdicts(part.check, part.key, answer, out);
  HttpLoop& loop = HttpCallOf(part).loop;
  if (loop.options().denial_id_in_body) {
    if (const std::string_view id = loop.DenialIdOf(part.check); !id.empty()) {
      out.append(R"(,"denialId":")").append(id).append("\"");
    }
  }
  // A gateway may pass the body on to clients of the provider.
  if (const HeaderStyle style = loop.options().header_style;
      answer.status != 200 && IsOfProvider(style)) {
    out += ',';
    AppendProviderError(part.check, answer, style, DenialMessage(part.check, answer), {}, out);
  }
  if (part.gives_receipt) AppendReceipt(part, now, out);
  out += '}';
}

void AppendReceipt(HttpCall::Part& part, WallTime now, std::string& out) {
  constexpr std::string_view kName = R"(,"receipt":")";
  const std::size_t before = out.size();
  out += kName;
  if (AppendReceiptOf(part, now, HttpCallOf(part).loop.receipts(), out)) {
    out += '"';
  } else {
    out.resize(before);
  }
}

}  // namespace sluice::api
