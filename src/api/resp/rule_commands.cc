#include "api/resp/rule_commands.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "answer/refusal_text.h"
#include "base/ascii.h"
#include "base/wide_math.h"
#include "limiter/decision.h"
#include "match/refused_cost.h"
#include "resp/encoder.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;
using store::Operation;

constexpr std::int64_t kMicrosPerMilli = 1000;

std::int64_t MillisRoundedUp(Micros wait) { return CeilDiv(wait.count(), kMicrosPerMilli); }

std::int64_t RetryAfterMillis(const CheckRequest& check) {
  if (check.allowed) return 0;
  if (check.ruling == Ruling::kBlocked) {
    return check.block_rest < Micros{0} ? -1 : MillisRoundedUp(check.block_rest);
  }
  const Verdict& verdict = check.decision.tightest;
  const bool waiting_helps = !check.uses().empty() && verdict.outcome == Outcome::kDenied;
  return waiting_helps ? std::max<std::int64_t>(MillisRoundedUp(verdict.retry_after), 1) : -1;
}

// Attributes, and a number after a keyword in the last pair. `least` > 0: the number must be there.
bool AskByRules(RespArguments arguments, std::string_view keyword, std::int64_t least,
                CheckRequest& check, std::string& out) {
  RespArguments pairs = arguments.subspan(1);
  if (pairs.size() % 2 != 0) {
    std::string message = "ERR attributes come as name and value: '";
    resp::AppendError(out, message.append(Quotable(pairs.back())).append("' has no value"));
    return false;
  }
  if (!keyword.empty()) {
    const std::string_view last = pairs[pairs.size() - 2];
    if (EqualIgnoringCase(last, keyword)) {
      if (!ReadBounded(keyword, pairs.back(), least, kMaxAmount, check.cost, out)) return false;
      pairs = pairs.first(pairs.size() - 2);
    } else if (least > 0) {
      resp::AppendError(out, "ERR AMOUNT n is missing: it must come last");
      return false;
    }
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2) check.Add(pairs[i], pairs[i + 1]);
  return true;
}

std::string_view MeaningOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidKey:
      return "a key or the values that a budget is per are longer than 4096 bytes";
    case ErrorCode::kInvalidCost:
      return "the rules do not accept the cost";
    case ErrorCode::kTooManyLimits:
      return "more than 128 limits in one decision";
    default:
      return "the limit does not support this operation";
  }
}

}  // namespace

bool AskCheck(RespArguments arguments, CheckRequest& check, std::string& out) {
  return AskByRules(arguments, "cost", 0, check, out);
}

bool AskPeek(RespArguments arguments, CheckRequest& check, std::string& out) {
  check.operation = Operation::kPeek;
  return AskByRules(arguments, "cost", 0, check, out);
}

bool AskReset(RespArguments arguments, CheckRequest& check, std::string& out) {
  check.operation = Operation::kReset;
  return AskByRules(arguments, "", 0, check, out);
}

bool AskGrant(RespArguments arguments, CheckRequest& check, std::string& out) {
  check.operation = Operation::kGrant;
  return AskByRules(arguments, "amount", 1, check, out);
}

void ReplyDecision(const CheckRequest& check, std::string& out) {
  if (check.ruling == Ruling::kInvalid) return AppendUndecided(check, out);
  const bool by_limits = ReportedUse(check) != nullptr;
  const Verdict& verdict = check.decision.tightest;
  // A limit of 0 means that the store failed and the state is unknown.
  const bool known = by_limits && !(check.degraded && verdict.limit == 0);
  const rules::Rule* const rule = by_limits ? check.matched(check.decision.index).rule : nullptr;
  constexpr std::string_view kHeader = "*8\r\n";
  std::array<char, kHeader.size() + 5 * resp::kMaxIntegerBytes> room;
  char* at = std::copy(kHeader.begin(), kHeader.end(), room.data());
  at = resp::WriteInteger(at, check.allowed ? 1 : 0);
  at = resp::WriteInteger(at, known ? verdict.limit : -1);
  at = resp::WriteInteger(at, known ? verdict.remaining : -1);
  at = resp::WriteInteger(at, RetryAfterMillis(check));
  at = resp::WriteInteger(at, known ? MillisRoundedUp(verdict.reset_after) : 0);
  out.append(room.data(), at);
  resp::AppendBulk(out, rule != nullptr ? std::string_view(rule->id) : std::string_view());
  at = resp::WriteInteger(room.data(), check.degraded ? 1 : 0);
  at = resp::WriteInteger(at, known ? MillisRoundedUp(verdict.delay) : 0);
  out.append(room.data(), at);
}

void ReplyAffected(const CheckRequest& check, std::string& out) {
  if (check.ruling == Ruling::kInvalid || check.ruling == Ruling::kDegraded) {
    return AppendUndecided(check, out);
  }
  resp::AppendInteger(out, static_cast<std::int64_t>(check.affected));
}

void ReplyGranted(const CheckRequest& check, std::string& out) {
  if (check.ruling == Ruling::kInvalid || check.ruling == Ruling::kDegraded) {
    return AppendUndecided(check, out);
  }
  if (check.uses().empty()) {
    return resp::AppendError(out, "ERR " + WhyNothingGranted(check).why);
  }
  resp::AppendInteger(out, static_cast<std::int64_t>(check.uses().size()));
}

void AppendUndecided(const CheckRequest& check, std::string& out) {
  if (check.ruling == Ruling::kDegraded) return AppendStorageError(check.error, out);
  std::string message = "ERR ";
  message.append(ErrorName(check.error)).append(": ");
  const match::CostRefusal* const refusal = check.refusal();
  if (check.error == ErrorCode::kInvalidCost && refusal != nullptr) {
    message += match::Describe(*refusal);
  } else {
    message += MeaningOf(check.error);
  }
  resp::AppendError(out, message);
}

}  // namespace sluice::api
