#include "api/decision_body.h"

#include <algorithm>
#include <utility>

#include "api/http_loop.h"
#include "api/json_text.h"

namespace sluice::api {
namespace {

using limiter::Question;

constexpr std::size_t kDecisionRoom = 512;
constexpr std::size_t kLimitRoom = 384;

std::int64_t SecondsOrNever(Micros wait) { return wait < Micros{0} ? -1 : SecondsOf(wait); }
std::int64_t MillisOrNever(Micros wait) { return wait < Micros{0} ? -1 : MillisOf(wait); }

std::size_t RoomFor(const rules::MetLimit& met) {
  if (met.rule == nullptr) return kLimitRoom;
  return kLimitRoom + JsonText::RoomFor(met.rule->id) + JsonText::RoomFor(met.limit->name) +
         JsonText::RoomFor(met.limit->type);
}

void AppendLimit(const Question& question, std::size_t i, JsonText& text) {
  const store::Use& use = question.uses()[i];
  const rules::MetLimit& met = question.met(i);
  const Verdict& verdict = use.verdict;
  const Micros wait = WaitOf(verdict);
  // Where nobody could tell, there is nothing but the limit.
  const bool known = !question.degraded || verdict.remaining > 0 || wait != Micros{0} ||
                     verdict.reset_after != Micros{0};
  if (met.rule != nullptr) {
    text.Raw(R"({"rule":)").Quoted(met.rule->id);
    text.Raw(R"(,"name":)").Quoted(met.limit->name);
    text.Raw(R"(,"type":)").Quoted(met.limit->type);
  } else {
    text.Raw(R"({"rule":null,"name":null,"type":"requests")");
  }
  text.Raw(R"(,"algorithm":")").RawText(PublicNameOf(use.limit->algorithm()));
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
bool Hides(const Question& question, std::size_t i) {
  const store::Use& use = question.uses()[i];
  const rules::Rule* const rule = question.met(i).rule;
  if (rule == nullptr || rule->headers) return false;
  return use.mode == Mode::kShadow || use.verdict.outcome == Outcome::kAllowed;
}

void AppendLimits(const Question& question, std::string& out) {
  std::size_t room = 2;
  for (std::size_t i = 0; i < question.uses().size(); ++i) room += RoomFor(question.met(i));
  JsonText text(out, room);
  text.Raw("[");
  bool is_first = true;
  for (std::size_t i = 0; i < question.uses().size(); ++i) {
    if (Hides(question, i)) continue;
    if (!std::exchange(is_first, false)) text.Raw(",");
    AppendLimit(question, i, text);
  }
  text.Raw("]");
}

void AppendHeadline(const Question& question, std::string_view key, const HttpAnswer& answer,
                    std::string& out) {
  const store::Use* const use = SpokenOf(question);
  const rules::Rule* const rule =
      use == nullptr ? nullptr : question.met(question.headline.index).rule;
  const bool known = use != nullptr && IsKnown(question);
  const Verdict& verdict = question.headline.headline;
  const Micros wait = WaitOf(question);
  const std::string_view rule_id = rule == nullptr ? std::string_view{} : rule->id;
  JsonText text(out, kDecisionRoom + JsonText::RoomFor(key) + JsonText::RoomFor(rule_id) +
                         answer.message.size());
  text.Raw(R"({"allowed":)").Bool(question.allowed).Raw(R"(,"key":)").Quoted(key);
  if (use != nullptr) {
    text.Raw(R"(,"algorithm":")").RawText(PublicNameOf(use->limit->algorithm())).Raw("\"");
  } else {
    text.Raw(R"(,"algorithm":null)");
  }
  text.Raw(R"(,"remaining":)").Int(known ? verdict.remaining : -1);
  text.Raw(R"(,"resetAfterSeconds":)").Int(known ? SecondsOf(verdict.reset_after) : 0);
  text.Raw(R"(,"retryAfterSeconds":)").Int(SecondsOrNever(wait));
  text.Raw(R"(,"message":")").RawText(answer.message);
  text.Raw(R"(","limit":)").Int(use == nullptr ? -1 : known ? verdict.limit : use->limit->cap());
  text.Raw(R"(,"retryAfterMs":)").Int(MillisOrNever(wait));
  text.Raw(R"(,"delayMs":)").Int(known ? MillisOf(verdict.delay) : 0);
  if (rule != nullptr) {
    text.Raw(R"(,"rule":)").Quoted(rule_id);
  } else {
    text.Raw(R"(,"rule":null)");
  }
  text.Raw(R"(,"degraded":)").Bool(question.degraded);
  if (answer.status != 200) {
    text.Raw(R"(,"code":")").RawText(KindOf(answer.code).name).Raw("\"");
  }
  text.Raw(R"(,"limits":)");
}

// Limits whose cost an attribute measures; where there are none, those whose cost is the call's.
bool IsMeasured(const HttpCall::Part& part, std::size_t i) {
  const Question& question = part.question;
  if (question.met(i).rule == nullptr) return part.measured[i];
  bool any_by_attribute = false;
  for (std::size_t j = 0; j < question.uses().size(); ++j) {
    any_by_attribute |= !question.met(j).limit->cost.attribute.empty();
  }
  const rules::Cost& cost = question.met(i).limit->cost;
  return any_by_attribute ? !cost.attribute.empty() : !cost.constant.has_value();
}

bool TookNothing(const Receipt& receipt) {
  return receipt.amount == 0 && receipt.from_grant == 0 && receipt.slot == 0;
}

}  // namespace

void AppendDecision(HttpCall::Part& part, const HttpAnswer& answer, WallTime now,
                    std::string& out) {
  AppendHeadline(part.question, part.key, answer, out);
  AppendLimits(part.question, out);
  if (part.gives_receipt) AppendReceipt(part, now, out);
  out += '}';
}

void AppendReceipt(HttpCall::Part& part, WallTime now, std::string& out) {
  const Question& question = part.question;
  if (question.ruling != Ruling::kDecided || !question.allowed) return;
  ReceiptSigner& receipts = part.call.loop.receipts();
  receipts.Begin(now);
  for (std::size_t i = 0; i < question.uses().size(); ++i) {
    const store::Use& use = question.uses()[i];
    if (!TookNothing(use.receipt)) {
      receipts.Add(use.key, *use.limit, use.receipt,
                   {.measured = IsMeasured(part, i), .leased = use.may_lease});
    }
  }
  if (receipts.empty()) return;
  out += R"(,"receipt":")";
  receipts.Finish(out);
  out += '"';
}

}  // namespace sluice::api
