#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/result.h>
#include <sluice/rules.h>
#include <sluice/time.h>

#include "base/key.h"
#include "limiter/check_request.h"
#include "rules/count.h"
#include "store/store.h"

/// Settlement of receipts, for all protocols: what a check took is brought to what the call really
/// used.
namespace sluice::limiter {

/// The amount that a call took from one limit, with all that a later correction needs, even if the
/// rules have changed.
struct TakenLimit {
  std::string scope, tag, rest;  ///< The parts of its key.
  Limit limit;
  Receipt receipt;
  bool measured = false;  ///< Its real cost is known only later; see SettledBy.
  /// Maximum charge of a settlement.
  std::int64_t max_settlement = kMaxAmount;
  std::int64_t scale = 1;  ///< Amounts are in parts, of which a unit has this many.
  bool shadow = false;     ///< It never denies.
  /// Of a call with quantities: what the limit counts of them, at the prices of the check. Empty:
  /// the same whatever the call uses.
  rules::Count count{};
  std::uint64_t id = 0;  ///< Unique among what was taken from the key.
};

/// A quantity with a name of its own.
struct OwnedQuantity {
  std::string name;
  std::int64_t amount = 0;
};

/// The content of a receipt.
struct ReceiptContents {
  WallTime expires{};
  std::uint64_t first_id = 0;  ///< Of the first limit; the others follow.
  std::vector<TakenLimit> taken;
  bool is_by_quantity = false;
  std::vector<OwnedQuantity> used{};  ///< What the check named.
};

/// Whether a settlement is about the limit: those whose cost is measured, such as tokens; if there
/// is none of them, all.
[[nodiscard]] bool SettledBy(const std::vector<TakenLimit>& taken, const TakenLimit& limit);

/// Whether a limit of a decided check belongs into its receipt: something was taken of it, or may
/// be charged later.
[[nodiscard]] bool IsSettleable(const CheckRequest& check, std::size_t use);

/// Returns the receipt that takes over from another: with the same limits, other ids and a later
/// end. The same for the same receipt, so that a lost answer can be given again.
[[nodiscard]] ReceiptContents SuccessorOf(ReceiptContents receipt, Micros lifetime);

/// Why a receipt can't be settled so. Nothing was changed.
struct SettlementRefusal {
  ErrorCode error = ErrorCode::kNotSupported;
  std::string field;   ///< "use.output_tokens"
  std::string detail;  ///< For people.
};

/// The effect of a settlement on one limit, in the limit's unit.
struct SettledLimit {
  std::string rule;  ///< Empty: a limit that the caller brought.
  std::string name;
  Verdict verdict;
  std::int64_t settled = 0;  ///< The charge in effect.
  bool is_capped = false;    ///< The limit's `max_settlement` is less than what was used.
  bool stops = false;        ///< Nothing is left for the call to go on.
};

/// One request about a receipt, from its reading to its answer.
class ReceiptSettlement {
 public:
  ReceiptSettlement(ReceiptContents receipt, std::uint32_t max_settled_per_key)
      : receipt_(std::move(receipt)), max_per_key_(max_settled_per_key) {}

  /// Each sets what the request is to do. False: `refusal` says why not.
  ///
  /// Corrects every limit that counts quantities to what the call used; quantities that are not
  /// named stay as they were reserved. Partial: raises the charge to running totals. `known` are
  /// names besides those of the receipt.
  [[nodiscard]] bool SettleUse(std::span<const UsedQuantity> used, bool is_partial,
                               std::span<const std::string> known, SettlementRefusal& refusal);
  /// Corrects the measured limits of a receipt without quantities (SettledBy) to one cost.
  [[nodiscard]] bool SettleCost(std::int64_t cost, SettlementRefusal& refusal);
  /// Gives everything back.
  void Cancel();
  /// Releases or renews the slots and leaves everything else alone.
  void ChangeSlots(store::Operation operation) { on_slots_ = operation; }
  /// Keeps slots and reservation. `replaces`: by a receipt that takes over.
  void Extend(bool replaces);

  /// Adds the adjustments of limits to a check, and the slots to release or renew to another.
  /// False: there are none, and the check is not needed.
  [[nodiscard]] bool AddAdjustments(CheckRequest& check) const;
  [[nodiscard]] bool AddSlots(CheckRequest& check) const;
  [[nodiscard]] bool changes_slots() const;

  /// Records the results of those checks.
  void TakeResults(const CheckRequest& check);

  [[nodiscard]] std::span<const SettledLimit> limits() const { return limits_; }
  /// A total of another settlement stands; nothing was changed.
  [[nodiscard]] bool was_settled() const { return was_settled_; }
  /// The receipt was extended: its successor stands.
  [[nodiscard]] bool was_moved() const { return was_moved_; }
  [[nodiscard]] bool is_capped() const;
  [[nodiscard]] bool stops() const;
  /// An extended receipt has a successor (SuccessorOf).
  [[nodiscard]] bool is_replaced() const { return is_replaced_; }
  [[nodiscard]] bool is_partial() const { return step_ == store::SettlementStep::kPartial; }
  [[nodiscard]] std::size_t slots() const { return slots_; }  ///< Released or renewed.
  [[nodiscard]] const ReceiptContents& receipt() const { return receipt_; }

 private:
  /// What one limit of the receipt is corrected to, in parts.
  struct Adjustment {
    std::size_t taken;
    std::int64_t cost;
    bool is_capped;
  };

  void Add(std::size_t taken, std::int64_t cost);

  ReceiptContents receipt_;
  std::uint32_t max_per_key_;
  store::SettlementStep step_ = store::SettlementStep::kFinal;
  store::Operation on_slots_ = store::Operation::kCheck;  ///< kCheck: they are left alone.
  std::vector<Adjustment> adjustments_;
  std::vector<SettledLimit> limits_;
  bool was_settled_ = false;
  bool was_moved_ = false;
  bool is_replaced_ = false;
  std::size_t slots_ = 0;
};

}  // namespace sluice::limiter
