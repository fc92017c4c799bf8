#include "api/receipt_call.h"

#include <memory>
#include <utility>

namespace sluice::api {
namespace {

using limiter::CheckRequest;
using limiter::ReceiptSettlement;

// Limits whose cost an attribute measures; where there are none, those whose cost is the call's.
bool IsMeasured(const CheckCall::Part& part, std::size_t i) {
  const CheckRequest& check = part.check;
  if (check.matched(i).rule == nullptr) return part.measured[i];
  bool any_by_attribute = false;
  for (std::size_t j = 0; j < check.uses().size(); ++j) {
    any_by_attribute |= !check.matched(j).limit->cost.attribute.empty();
  }
  const rules::Cost& cost = check.matched(i).limit->cost;
  return any_by_attribute ? !cost.attribute.empty() : !cost.constant.has_value();
}

// False: the settlement leaves slots alone, or there are none.
bool AddSlots(CheckCall& call) {
  if (call.settlement->AddSlots(call.Add().check)) return true;
  call.RemoveLast();
  return false;
}

}  // namespace

bool AppendReceiptOf(CheckCall::Part& part, WallTime now, ReceiptSigner& receipts,
                     std::string& out) {
  CheckRequest& check = part.check;
  if (check.ruling != Ruling::kDecided || !check.allowed) return false;
  if (check.is_by_quantity()) {
    receipts.Begin(now, check.GatherQuantities());
  } else {
    receipts.Begin(now);
  }
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const store::KeyUse& use = check.uses()[i];
    const match::MatchedLimit& matched = check.matched(i);
    if (!limiter::IsSettleable(check, i)) continue;
    receipts.Add(use.key, *use.limit, use.receipt,
                 {.measured = IsMeasured(part, i),
                  .max_settlement = rules::MaxSettlementOf(matched.limit, *use.limit),
                  .scale = matched.limit == nullptr ? 1 : matched.limit->scale,
                  .shadow = use.mode == Mode::kShadow,
                  .count = matched.count});
  }
  if (receipts.empty()) return false;
  receipts.Finish(out);
  return true;
}

std::optional<ReceiptContents> ReadValidReceipt(const ReceiptSigner& receipts,
                                                std::string_view text, WallTime now) {
  auto receipt = receipts.Read(text);
  if (!receipt || receipt->taken.empty() || now > receipt->expires) return std::nullopt;
  return receipt;
}

std::span<const std::string> KnownQuantities(const Snapshot<match::RuleSet>& rules) {
  if (!rules) return {};
  return rules->file().quantities;
}

void AddSettlement(ReceiptSettlement settlement, CheckCall& call) {
  call.settlement = std::make_unique<ReceiptSettlement>(std::move(settlement));
  call.on_decided = [](CheckCall::Part& part) { part.call.settlement->TakeResults(part.check); };
  if (call.settlement->AddAdjustments(call.Add().check)) {
    if (!call.settlement->changes_slots()) return;
    // A settlement that does not hold is not the end of the call.
    call.add_last = [](CheckCall& adjusted) {
      return !ProblemOfSettlement(adjusted) && AddSlots(adjusted);
    };
    return;
  }
  call.RemoveLast();
  AddSlots(call);
}

Problem ProblemOf(const limiter::SettlementRefusal& refusal) {
  const bool is_of_other_kind = refusal.error == ErrorCode::kNotSupported;
  return {.code = is_of_other_kind ? ProblemCode::kInvalidField : ProblemCodeOf(refusal.error),
          .field = refusal.field,
          .detail = refusal.detail};
}

std::optional<Problem> ProblemOfSettlement(const CheckCall& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    const CheckRequest& check = call.part(i).check;
    if (check.ruling == Ruling::kInvalid || check.ruling == Ruling::kDegraded) {
      return Problem{.code = ProblemCodeOf(check.error)};
    }
  }
  if (!call.settlement->was_settled()) return std::nullopt;
  Problem problem{.code = ProblemCode::kAlreadySettled, .field = "receipt"};
  if (call.settlement->was_moved()) {
    problem.detail = "the receipt was extended: use the one that `extend` returned";
  }
  return problem;
}

void AppendExtended(const CheckCall& call, ReceiptSigner& receipts, std::string& out) {
  const ReceiptSettlement& settlement = *call.settlement;
  receipts.Append(settlement.is_replaced() ? SuccessorOf(settlement.receipt(), receipts.lifetime())
                                           : settlement.receipt(),
                  out);
}

}  // namespace sluice::api
