// sluice.v1.Limiter: decisions by rules, reservations with receipts, and slots.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/http_answer.h"
#include "api/grpc/loop.h"
#include "api/grpc/methods.h"
#include "api/receipt_call.h"
#include "limiter/decision.h"
#include "limiter/settlement.h"
#include "rules/count.h"
#include "wire/proto_reader.h"
#include "wire/proto_writer.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;
using limiter::ReceiptSettlement;
using limiter::SettledLimit;
using limiter::SettlementRefusal;
using store::Operation;
using wire::GrpcStatus;
using wire::ProtoReader;
using wire::ProtoWriter;

constexpr std::size_t kMaxChecksOfBatch = 1000;
constexpr std::size_t kMaxAttributesOfCheck = 32;

// Why a request makes no sense; empty: it does.
using LimiterRefusal = std::string;
const LimiterRefusal kMalformed = "the message is not of this method";

// An entry of a map.
template <typename Value>
struct MapEntry {
  std::string_view key;
  Value value{};
};
bool ReadMapEntry(std::string_view message, MapEntry<std::string_view>& entry) {
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) entry.key = reader.Bytes();
    if (reader.field() == 2) entry.value = reader.Bytes();
  }
  return reader.ok();
}
bool ReadMapEntry(std::string_view message, MapEntry<std::int64_t>& entry) {
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) entry.key = reader.Bytes();
    if (reader.field() == 2) entry.value = static_cast<std::int64_t>(reader.Varint());
  }
  return reader.ok();
}

// Of duplicate keys, the last one counts, as in protobuf.
LimiterRefusal ReadUse(std::string_view message, std::vector<UsedQuantity>& quantities) {
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() != 1) continue;
    MapEntry<std::int64_t> entry;
    if (!ReadMapEntry(reader.Bytes(), entry)) return kMalformed;
    if (entry.value < 0 || entry.value > kMaxAmount) {
      return "INVALID_FIELD: use." + std::string(entry.key) + ": must be between 0 and " +
             std::to_string(kMaxAmount);
    }
    const auto known =
        std::find_if(quantities.begin(), quantities.end(),
                     [&](const UsedQuantity& each) { return each.name == entry.key; });
    if (known != quantities.end()) {
      known->amount = entry.value;
    } else if (quantities.size() == rules::kMaxQuantities) {
      return "INVALID_FIELD: use: has more than " + std::to_string(rules::kMaxQuantities) +
             " quantities";
    } else {
      quantities.push_back({entry.key, entry.value});
    }
  }
  return reader.ok() ? LimiterRefusal() : kMalformed;
}

LimiterRefusal ReadAttribute(std::string_view message, std::size_t& attributes,
                             CheckRequest& check) {
  MapEntry<std::string_view> entry;
  if (!ReadMapEntry(message, entry)) return kMalformed;
  if (++attributes > kMaxAttributesOfCheck) {
    return "INVALID_FIELD: attributes: there are more than " +
           std::to_string(kMaxAttributesOfCheck);
  }
  check.Add(entry.key, entry.value);
  return {};
}

LimiterRefusal ReadCheckRequest(std::string_view message, GrpcCall& call, CheckRequest& check) {
  ProtoReader reader(message);
  std::vector<UsedQuantity> quantities;
  std::size_t attributes = 0;
  bool has_cost = false;
  while (reader.Next()) {
    LimiterRefusal refusal;
    if (reader.field() == 1) refusal = ReadAttribute(reader.Bytes(), attributes, check);
    if (reader.field() == 2) {
      check.cost = static_cast<std::int64_t>(reader.Varint());
      has_cost = true;
    }
    if (reader.field() == 3) {
      check.SetByQuantity();
      refusal = ReadUse(reader.Bytes(), quantities);
    }
    if (!refusal.empty()) return refusal;
  }
  if (!reader.ok()) return kMalformed;
  if (has_cost && check.is_by_quantity()) {
    return "INVALID_FIELD: cost: can't be combined with `use`";
  }
  for (const UsedQuantity& quantity : quantities) {
    check.AddQuantity(quantity.name, quantity.amount);
  }
  if (call.loop.services().requires_identity() && !HasIdentity(check)) {
    return "NO_IDENTITY: the call has neither `ip` nor `api_key`, and such calls are refused";
  }
  return {};
}

std::string TextOf(const Problem& problem) {
  const ProblemKind& kind = KindOf(problem.code);
  std::string text(kind.name);
  text += ": ";
  if (!problem.field.empty()) text.append(problem.field).append(": ");
  return text.append(problem.detail.empty() ? kind.meaning : std::string_view(problem.detail));
}

GrpcStatus StatusOf(const Problem& problem) {
  const int status = KindOf(problem.code).status;
  if (status == 409) return GrpcStatus::kFailedPrecondition;
  return status >= 500 ? GrpcStatus::kUnavailable : GrpcStatus::kInvalidArgument;
}

void RefuseWith(GrpcCall& call, const Problem& problem) {
  call.Refuse(StatusOf(problem), TextOf(problem));
}

void RefuseInvalid(GrpcCall& call, std::string_view why) {
  call.Refuse(GrpcStatus::kInvalidArgument, why);
}

// ---- Decisions

std::uint64_t AsVarint(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::int64_t MillisUntilRetry(Micros wait) { return wait < Micros{0} ? -1 : MillisOf(wait); }

void WriteDecision(CheckCall::Part& part, const HttpAnswer& answer, std::string& out) {
  const CheckRequest& check = part.check;
  const bool by_limits = ReportedUse(check) != nullptr;
  const bool is_known = by_limits && sluice::IsKnown(check);
  const Verdict& verdict = check.decision.tightest;
  const match::MatchedLimit matched =
      by_limits ? check.matched(check.decision.index) : match::MatchedLimit{};
  ProtoWriter writer(out);
  writer.Uint(1, check.allowed ? 1 : 0);
  writer.Uint(2, AsVarint(is_known ? verdict.limit : -1));
  writer.Uint(3, AsVarint(is_known ? verdict.remaining : -1));
  writer.Uint(4, AsVarint(MillisUntilRetry(WaitOf(check))));
  writer.Uint(5, AsVarint(is_known ? MillisOf(verdict.reset_after) : 0));
  if (matched.rule != nullptr) {
    writer.Bytes(6, matched.rule->id);
    writer.Bytes(7, matched.limit->name);
  }
  writer.Uint(8, check.degraded ? 1 : 0);
  writer.Uint(9, AsVarint(is_known ? MillisOf(verdict.delay) : 0));
  if (!check.allowed) {
    writer.Bytes(10, KindOf(answer.code).name);
    writer.Bytes(
        11, answer.is_problem ? TextOf(ProblemOf(check, answer)) : std::string(answer.message));
  }
  GrpcLoop& loop = GrpcCallOf(part).loop;
  std::string receipt;
  AppendReceiptOf(part, loop.services().now(), loop.receipts(), receipt);
  writer.Bytes(12, receipt);
  const bool holds_slot =
      std::any_of(check.uses().begin(), check.uses().end(),
                  [](const store::KeyUse& use) { return use.receipt.slot != 0; });
  if (check.allowed && holds_slot) writer.Uint(13, check.slot);
}

void AnswerCheck(GrpcCall& call) {
  CheckCall::Part& part = call.part(0);
  const HttpAnswer answer = AnswerTo(part.check);
  // A cost that never fits is a denial: waiting does not help.
  if (part.check.ruling == Ruling::kInvalid || answer.status == 503) {
    return RefuseWith(call, ProblemOf(part.check, answer));
  }
  WriteDecision(part, answer, call.reply);
}

void NoteResult(CheckCall::Part& part) { WriteDecision(part, AnswerTo(part.check), part.text); }

void AnswerBatch(GrpcCall& call) {
  ProtoWriter writer(call.reply);
  for (std::size_t i = 0; i < call.size(); ++i) {
    const auto result = writer.Begin(1);
    call.reply += call.part(i).text;
    writer.End(result);
  }
}

// ---- Receipts

// Makes the call of a request about a receipt. `prepare` says what is done, and returns false if
// it has refused the call.
template <typename Prepare>
void AskAboutReceipt(GrpcCall& call, std::string_view text, void (*answer)(GrpcCall&),
                     Prepare prepare) {
  GrpcLoop& loop = call.loop;
  auto receipt = ReadValidReceipt(loop.receipts(), text, loop.services().now());
  if (!receipt) {
    return RefuseWith(call, {.code = ProblemCode::kInvalidReceipt, .field = "receipt"});
  }
  ReceiptSettlement settlement(*std::move(receipt), loop.options().receipts.max_settled_per_key);
  if (!prepare(settlement)) return;
  AddSettlement(std::move(settlement), call);
  for (std::size_t i = 0; i < call.size(); ++i) call.part(i).check.timeout = call.timeout;
  if (call.size() == 0) return answer(call);
  call.answer = answer;
}

bool Holds(GrpcCall& call) {
  const std::optional<Problem> problem = ProblemOfSettlement(call);
  if (problem) RefuseWith(call, *problem);
  return !problem;
}

void AnswerSettle(GrpcCall& call) {
  if (!Holds(call)) return;
  const ReceiptSettlement& settlement = *call.settlement;
  ProtoWriter writer(call.reply);
  writer.Uint(1, settlement.stops() ? 1 : 0);
  writer.Uint(2, settlement.slots());
  for (const SettledLimit& limit : settlement.limits()) {
    const auto message = writer.Begin(3);
    writer.Bytes(1, limit.rule).Bytes(2, limit.name);
    writer.Uint(3, AsVarint(limit.settled)).Uint(4, AsVarint(limit.verdict.limit));
    writer.Uint(5, AsVarint(limit.verdict.remaining)).Uint(6, limit.is_capped ? 1 : 0);
    writer.End(message);
  }
}

void AnswerExtend(GrpcCall& call) {
  if (!Holds(call)) return;
  std::string receipt;
  AppendExtended(call, call.loop.receipts(), receipt);
  ProtoWriter(call.reply).Uint(1, call.settlement->slots()).Bytes(2, receipt);
}

// ---- Slots

void AnswerSlotsOfReceipt(GrpcCall& call) {
  if (Holds(call)) ProtoWriter(call.reply).Uint(1, call.settlement->slots());
}

void AnswerSlots(GrpcCall& call) {
  const CheckRequest& check = call.part(0).check;
  if (check.ruling == Ruling::kInvalid || check.ruling == Ruling::kDegraded) {
    return RefuseWith(call, {.code = ProblemCodeOf(check.error)});
  }
  ProtoWriter(call.reply).Uint(1, check.affected);
}

// The only field of a message.
std::optional<std::string_view> ReadReceiptField(std::string_view message) {
  std::string_view receipt;
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) receipt = reader.Bytes();
  }
  return reader.ok() ? std::optional(receipt) : std::nullopt;
}

void AskSlots(GrpcCall& call, std::string_view message, Operation operation) {
  CheckRequest& check = call.Add().check;
  check.operation = operation;
  ProtoReader reader(message);
  std::string_view receipt;
  std::size_t attributes = 0;
  while (reader.Next()) {
    if (reader.field() == 1) receipt = reader.Bytes();
    if (reader.field() == 2) {
      const LimiterRefusal refusal = ReadAttribute(reader.Bytes(), attributes, check);
      if (!refusal.empty()) return RefuseInvalid(call, refusal);
    }
    if (reader.field() == 3) check.slot = reader.Varint();
  }
  if (!reader.ok()) return RefuseInvalid(call, kMalformed);
  if (!receipt.empty()) {
    call.RemoveLast();
    return AskAboutReceipt(call, receipt, AnswerSlotsOfReceipt, [&](ReceiptSettlement& settlement) {
      settlement.ChangeSlots(operation);
      return true;
    });
  }
  if (check.slot == 0) {
    return RefuseInvalid(call, "MISSING_FIELD: slot: is missing, and there is no receipt");
  }
  call.answer = AnswerSlots;
}

}  // namespace

void AskLimiterCheck(GrpcCall& call, std::string_view message) {
  const LimiterRefusal refusal = ReadCheckRequest(message, call, call.Add().check);
  if (!refusal.empty()) return RefuseInvalid(call, refusal);
  call.answer = AnswerCheck;
}

void AskLimiterBatch(GrpcCall& call, std::string_view message) {
  ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() != 1) continue;
    if (call.size() == kMaxChecksOfBatch) {
      return RefuseInvalid(call, KindOf(ProblemCode::kTooManyChecks).meaning);
    }
    const LimiterRefusal refusal = ReadCheckRequest(reader.Bytes(), call, call.Add().check);
    if (!refusal.empty()) {
      return RefuseInvalid(call, "checks[" + std::to_string(call.size() - 1) + "]: " + refusal);
    }
  }
  if (!reader.ok()) return RefuseInvalid(call, kMalformed);
  if (call.size() == 0) return RefuseInvalid(call, "MISSING_FIELD: checks: must not be empty");
  call.on_decided = NoteResult;
  call.answer = AnswerBatch;
}

void AskLimiterSettle(GrpcCall& call, std::string_view message) {
  ProtoReader reader(message);
  std::string_view receipt;
  std::vector<UsedQuantity> quantities;
  std::optional<std::int64_t> cost;
  bool is_partial = false;
  bool by_use = false;
  while (reader.Next()) {
    if (reader.field() == 1) receipt = reader.Bytes();
    if (reader.field() == 2) {
      by_use = true;
      const LimiterRefusal refusal = ReadUse(reader.Bytes(), quantities);
      if (!refusal.empty()) return RefuseInvalid(call, refusal);
    }
    if (reader.field() == 3) is_partial = reader.Bool();
    if (reader.field() == 4) cost = static_cast<std::int64_t>(reader.Varint());
  }
  if (!reader.ok()) return RefuseInvalid(call, kMalformed);
  if (cost && (by_use || is_partial)) {
    return RefuseInvalid(call, "INVALID_FIELD: cost: can't be combined with `use` or `partial`");
  }
  if (cost && (*cost < 0 || *cost > kMaxAmount)) {
    return RefuseInvalid(
        call, "INVALID_FIELD: cost: must be between 0 and " + std::to_string(kMaxAmount));
  }
  AskAboutReceipt(call, receipt, AnswerSettle, [&](ReceiptSettlement& settlement) {
    SettlementRefusal refusal;
    const bool is_right =
        cost ? settlement.SettleCost(*cost, refusal)
             : settlement.SettleUse(quantities, is_partial,
                                    KnownQuantities(call.loop.services().limiter().rules().Get()),
                                    refusal);
    if (!is_right) RefuseWith(call, ProblemOf(refusal));
    return is_right;
  });
}

void AskLimiterCancel(GrpcCall& call, std::string_view message) {
  const auto receipt = ReadReceiptField(message);
  if (!receipt) return RefuseInvalid(call, kMalformed);
  AskAboutReceipt(call, *receipt, AnswerSettle, [](ReceiptSettlement& settlement) {
    settlement.Cancel();
    return true;
  });
}

void AskLimiterExtend(GrpcCall& call, std::string_view message) {
  const auto receipt = ReadReceiptField(message);
  if (!receipt) return RefuseInvalid(call, kMalformed);
  AskAboutReceipt(call, *receipt, AnswerExtend, [&](ReceiptSettlement& settlement) {
    settlement.Extend(
        call.loop.receipts().NeedsSuccessor(settlement.receipt(), call.loop.services().now()));
    return true;
  });
}

void AskLimiterAcquire(GrpcCall& call, std::string_view message) {
  CheckRequest& check = call.Add().check;
  ProtoReader reader(message);
  LimiterRefusal refusal;
  while (reader.Next()) {
    if (reader.field() == 1) refusal = ReadCheckRequest(reader.Bytes(), call, check);
    if (reader.field() == 2) check.slot = reader.Varint();
  }
  if (!reader.ok()) refusal = kMalformed;
  if (!refusal.empty()) return RefuseInvalid(call, refusal);
  call.answer = AnswerCheck;
}

void AskLimiterRelease(GrpcCall& call, std::string_view message) {
  AskSlots(call, message, Operation::kRelease);
}

void AskLimiterRenew(GrpcCall& call, std::string_view message) {
  AskSlots(call, message, Operation::kRenew);
}

}  // namespace sluice::api
