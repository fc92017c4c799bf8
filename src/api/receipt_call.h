#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "answer/problem.h"
#include "api/check_call.h"
#include "api/receipt_text.h"
#include "base/live.h"
#include "limiter/settlement.h"
#include "match/rule_set.h"

/// Receipts of checks, and requests about them, for all protocols.
namespace sluice::api {

/// Appends the text of a receipt for a decided check. False: it took nothing that could be settled.
bool AppendReceiptOf(CheckCall::Part& part, WallTime now, ReceiptSigner& receipts,
                     std::string& out);

/// Reads a receipt that is genuine and has not expired; nothing otherwise.
[[nodiscard]] std::optional<ReceiptContents> ReadValidReceipt(const ReceiptSigner& receipts,
                                                              std::string_view text, WallTime now);

/// Returns the quantities that the rules know; `rules` may be empty.
[[nodiscard]] std::span<const std::string> KnownQuantities(const Snapshot<match::RuleSet>& rules);

/// Adds the checks of a settlement to a call, which keeps it until the reply. Slots are released or
/// renewed afterwards, if it holds.
void AddSettlement(limiter::ReceiptSettlement settlement, CheckCall& call);

/// Returns why a settlement was refused before it was submitted.
[[nodiscard]] Problem ProblemOf(const limiter::SettlementRefusal& refusal);
/// Returns why a submitted settlement does not hold: the store failed, or another one stands.
/// Nothing: it holds.
[[nodiscard]] std::optional<Problem> ProblemOfSettlement(const CheckCall& call);

/// Appends the receipt with which an extended call goes on.
void AppendExtended(const CheckCall& call, ReceiptSigner& receipts, std::string& out);

}  // namespace sluice::api
