#include "api/rule_commands.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "answer/refusal_text.h"
#include "base/wide_math.h"
#include "limiter/headline.h"
#include "resp/encoder.h"
#include "rules/refused_cost.h"

namespace sluice::api {
namespace {

using limiter::Question;
using store::Operation;

constexpr std::int64_t kMicrosPerMilli = 1000;

std::int64_t MillisRoundedUp(Micros wait) { return CeilDiv(wait.count(), kMicrosPerMilli); }

std::int64_t RetryAfterMillis(const Question& question) {
  if (question.allowed) return 0;
  const Verdict& verdict = question.headline.headline;
  const bool waiting_helps = !question.uses().empty() && verdict.outcome == Outcome::kDenied;
  return waiting_helps ? std::max<std::int64_t>(MillisRoundedUp(verdict.retry_after), 1) : -1;
}

// Attributes, and a number after a keyword in the last pair. `least` > 0: the number must be there.
bool AskByRules(RespArguments arguments, std::string_view keyword, std::int64_t least,
                Question& question, std::string& out) {
  RespArguments pairs = arguments.subspan(1);
  if (pairs.size() % 2 != 0) {
    std::string message = "ERR attributes come as name and value: '";
    resp::AppendError(out, message.append(Quotable(pairs.back())).append("' has no value"));
    return false;
  }
  if (!keyword.empty()) {
    const std::string_view last = pairs[pairs.size() - 2];
    if (EqualsIgnoringCase(last, keyword)) {
      if (!ReadBounded(keyword, pairs.back(), least, kMaxAmount, question.cost, out)) return false;
      pairs = pairs.first(pairs.size() - 2);
    } else if (least > 0) {
      resp::AppendError(out, "ERR AMOUNT n is missing: it comes last, and says how much");
      return false;
    }
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2) question.Add(pairs[i], pairs[i + 1]);
  return true;
}

std::string_view MeaningOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidKey:
      return "a key or the values that a budget is per are longer than 4096 bytes";
    case ErrorCode::kInvalidCost:
      return "the cost is not one that the rules accept";
    case ErrorCode::kTooManyLimits:
      return "more than 128 limits in one decision";
    default:
      return "this can't be asked of the limit";
  }
}

}  // namespace

bool AskCheck(RespArguments arguments, Question& question, std::string& out) {
  return AskByRules(arguments, "cost", 0, question, out);
}

bool AskPeek(RespArguments arguments, Question& question, std::string& out) {
  question.operation = Operation::kPeek;
  return AskByRules(arguments, "cost", 0, question, out);
}

bool AskReset(RespArguments arguments, Question& question, std::string& out) {
  question.operation = Operation::kReset;
  return AskByRules(arguments, "", 0, question, out);
}

bool AskGrant(RespArguments arguments, Question& question, std::string& out) {
  question.operation = Operation::kGrant;
  return AskByRules(arguments, "amount", 1, question, out);
}

void ReplyDecision(const Question& question, std::string& out) {
  if (question.ruling == Ruling::kInvalid) return AppendUndecided(question, out);
  const bool by_limits = SpokenOf(question) != nullptr;
  const Verdict& verdict = question.headline.headline;
  // A limit of 0 stands where a store that failed left nothing to tell.
  const bool known = by_limits && !(question.degraded && verdict.limit == 0);
  const rules::Rule* const rule = by_limits ? question.met(question.headline.index).rule : nullptr;
  resp::AppendArrayHeader(out, 8);
  resp::AppendInteger(out, question.allowed ? 1 : 0);
  resp::AppendInteger(out, known ? verdict.limit : -1);
  resp::AppendInteger(out, known ? verdict.remaining : -1);
  resp::AppendInteger(out, RetryAfterMillis(question));
  resp::AppendInteger(out, known ? MillisRoundedUp(verdict.reset_after) : 0);
  resp::AppendBulk(out, rule != nullptr ? std::string_view(rule->id) : std::string_view());
  resp::AppendInteger(out, question.degraded ? 1 : 0);
  resp::AppendInteger(out, known ? MillisRoundedUp(verdict.delay) : 0);
}

void ReplyAffected(const Question& question, std::string& out) {
  if (question.ruling == Ruling::kInvalid || question.ruling == Ruling::kDegraded) {
    return AppendUndecided(question, out);
  }
  resp::AppendInteger(out, static_cast<std::int64_t>(question.affected));
}

void ReplyGranted(const Question& question, std::string& out) {
  if (question.ruling == Ruling::kInvalid || question.ruling == Ruling::kDegraded) {
    return AppendUndecided(question, out);
  }
  if (question.uses().empty()) {
    return resp::AppendError(out, "ERR " + WhyNothingGranted(question).why);
  }
  resp::AppendInteger(out, static_cast<std::int64_t>(question.uses().size()));
}

void AppendUndecided(const Question& question, std::string& out) {
  if (question.ruling == Ruling::kDegraded) return AppendStorageError(question.error, out);
  std::string message = "ERR ";
  message.append(ErrorName(question.error)).append(": ");
  const rules::CostRefusal* const refusal = question.refusal();
  if (question.error == ErrorCode::kInvalidCost && refusal != nullptr) {
    message += rules::Describe(*refusal);
  } else {
    message += MeaningOf(question.error);
  }
  resp::AppendError(out, message);
}

}  // namespace sluice::api
