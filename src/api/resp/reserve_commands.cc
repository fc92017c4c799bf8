#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "answer/http_answer.h"
#include "api/receipt_call.h"
#include "api/resp/commands.h"
#include "api/resp/loop.h"
#include "api/resp/rule_commands.h"
#include "base/ascii.h"
#include "limiter/settlement.h"
#include "resp/encoder.h"
#include "rules/count.h"

/// Reservations: SLUICE.RESERVE, and SLUICE.SETTLE, SLUICE.CANCEL and SLUICE.EXTEND with its
/// receipt.
namespace sluice::api {
namespace {

using limiter::CheckRequest;
using limiter::ReceiptSettlement;
using limiter::SettledLimit;
using limiter::SettlementRefusal;

// Reads pairs of name and amount. Nothing: `out` has the error reply.
std::optional<std::vector<UsedQuantity>> ReadQuantities(RespArguments pairs, std::string& out) {
  if (pairs.size() % 2 != 0) {
    std::string message = "ERR quantities come as name and amount: '";
    resp::AppendError(out, message.append(Quotable(pairs.back())).append("' has no amount"));
    return std::nullopt;
  }
  if (pairs.size() / 2 > rules::kMaxQuantities) {
    resp::AppendError(
        out, "ERR more than " + std::to_string(rules::kMaxQuantities) + " quantities in one call");
    return std::nullopt;
  }
  std::vector<UsedQuantity> quantities;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const std::string_view name = pairs[i];
    UsedQuantity quantity{.name = name};
    if (!ReadBounded(Quotable(name), pairs[i + 1], 0, kMaxAmount, quantity.amount, out)) {
      return std::nullopt;
    }
    const bool is_twice =
        std::any_of(quantities.begin(), quantities.end(),
                    [&](const UsedQuantity& before) { return before.name == name; });
    if (is_twice) {
      std::string message = "ERR the quantity '";
      resp::AppendError(out, message.append(Quotable(name)).append("' is there twice"));
      return std::nullopt;
    }
    quantities.push_back(quantity);
  }
  return quantities;
}

// Replaces the check of a new call by the settlement of the receipt in the first argument.
// `prepare` says what it does, and may refuse.
template <typename Prepare>
bool AskAboutReceipt(RespLoop& loop, RespArguments arguments, RespCall& call, std::string& out,
                     Prepare prepare) {
  auto receipt = ReadValidReceipt(loop.receipts(), arguments[1], loop.services().now());
  if (!receipt) {
    AppendProblemError({.code = ProblemCode::kInvalidReceipt, .field = "receipt"}, out);
    return false;
  }
  ReceiptSettlement settlement(*std::move(receipt), loop.max_settled_per_key());
  if (!prepare(settlement)) return false;
  call.RemoveLast();
  AddSettlement(std::move(settlement), call);
  return true;
}

void AppendSettledLimit(const SettledLimit& limit, std::string& out) {
  resp::AppendArrayHeader(out, 6);
  resp::AppendBulk(out, limit.rule);
  resp::AppendBulk(out, limit.name);
  resp::AppendInteger(out, limit.settled);
  resp::AppendInteger(out, limit.verdict.limit);
  resp::AppendInteger(out, limit.verdict.remaining);
  resp::AppendInteger(out, limit.is_capped ? 1 : 0);
}

// Whether the settlement holds; else `out` has the error reply.
bool Holds(const RespCall& call, std::string& out) {
  const std::optional<Problem> problem = ProblemOfSettlement(call);
  if (problem) AppendProblemError(*problem, out);
  return !problem;
}

}  // namespace

bool AskReserve(RespLoop& /*loop*/, RespArguments arguments, RespCall& call, std::string& out) {
  CheckRequest& check = call.part(0).check;
  std::size_t at = 1;
  for (; at < arguments.size() && !EqualIgnoringCase(arguments[at], "use"); at += 2) {
    if (at + 1 == arguments.size()) break;
    check.Add(arguments[at], arguments[at + 1]);
  }
  if (at >= arguments.size() || !EqualIgnoringCase(arguments[at], "use")) {
    resp::AppendError(out, "ERR USE quantity amount is missing: it must follow the attributes");
    return false;
  }
  const auto quantities = ReadQuantities(arguments.subspan(at + 1), out);
  if (!quantities) return false;
  check.SetByQuantity();
  for (const UsedQuantity& quantity : *quantities) {
    check.AddQuantity(quantity.name, quantity.amount);
  }
  return true;
}

// Eleven elements: those of a decision, then the name of its limit, the code of a denial, and the
// receipt; each is empty if there is none.
void ReplyReserved(RespCall& call, std::string& out) {
  CheckCall::Part& part = call.part(0);
  const CheckRequest& check = part.check;
  const HttpAnswer answer = AnswerTo(check);
  if (check.ruling == Ruling::kInvalid) return AppendProblemError(ProblemOf(check, answer), out);
  const bool by_limits = ReportedUse(check) != nullptr;
  const rules::NamedLimit* const limit =
      by_limits ? check.matched(check.decision.index).limit : nullptr;
  AppendDecisionElements("*11\r\n", check, out);
  resp::AppendBulk(out, limit != nullptr ? std::string_view(limit->name) : std::string_view());
  resp::AppendBulk(out, check.allowed ? std::string_view() : KindOf(answer.code).name);
  std::string receipt;
  AppendReceiptOf(part, call.loop.services().now(), call.loop.receipts(), receipt);
  resp::AppendBulk(out, receipt);
}

bool AskSettle(RespLoop& loop, RespArguments arguments, RespCall& call, std::string& out) {
  RespArguments pairs = arguments.subspan(2);
  // A quantity may have that name, but then it has an amount.
  const bool is_partial = pairs.size() % 2 != 0 && EqualIgnoringCase(pairs.front(), "partial");
  if (is_partial) pairs = pairs.subspan(1);
  const auto quantities = ReadQuantities(pairs, out);
  if (!quantities) return false;
  return AskAboutReceipt(loop, arguments, call, out, [&](ReceiptSettlement& settlement) {
    SettlementRefusal refusal;
    if (settlement.SettleUse(*quantities, is_partial,
                             KnownQuantities(loop.services().limiter().rules().Get()), refusal)) {
      return true;
    }
    AppendProblemError(ProblemOf(refusal), out);
    return false;
  });
}

bool AskCancel(RespLoop& loop, RespArguments arguments, RespCall& call, std::string& out) {
  return AskAboutReceipt(loop, arguments, call, out, [](ReceiptSettlement& settlement) {
    settlement.Cancel();
    return true;
  });
}

bool AskExtend(RespLoop& loop, RespArguments arguments, RespCall& call, std::string& out) {
  return AskAboutReceipt(loop, arguments, call, out, [&](ReceiptSettlement& settlement) {
    settlement.Extend(loop.receipts().NeedsSuccessor(settlement.receipt(), loop.services().now()));
    return true;
  });
}

// Four elements: whether a stream must stop, whether some limit's charge was capped, how many slots
// were released, and the limits: each with its rule, its name, its charge, its size, what remains,
// and whether the charge was capped.
void ReplySettled(RespCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  const ReceiptSettlement& settlement = *call.settlement;
  resp::AppendArrayHeader(out, 4);
  resp::AppendInteger(out, settlement.stops() ? 1 : 0);
  resp::AppendInteger(out, settlement.is_capped() ? 1 : 0);
  resp::AppendInteger(out, static_cast<std::int64_t>(settlement.slots()));
  resp::AppendArrayHeader(out, settlement.limits().size());
  for (const SettledLimit& limit : settlement.limits()) AppendSettledLimit(limit, out);
}

// Two elements: how many slots were renewed, and the receipt to go on with.
void ReplyExtended(RespCall& call, std::string& out) {
  if (!Holds(call, out)) return;
  resp::AppendArrayHeader(out, 2);
  resp::AppendInteger(out, static_cast<std::int64_t>(call.settlement->slots()));
  std::string receipt;
  AppendExtended(call, call.loop.receipts(), receipt);
  resp::AppendBulk(out, receipt);
}

}  // namespace sluice::api
