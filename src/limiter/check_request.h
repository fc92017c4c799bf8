#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/decision.h>
#include <sluice/result.h>
#include <sluice/rules.h>

#include "base/live.h"
#include "base/trace_context.h"
#include "limiter/when_full.h"
#include "match/entry.h"
#include "match/rule_set.h"
#include "store/store.h"

namespace sluice::limiter {

/// On what terms a limit that the caller has chosen takes part in its call.
struct Terms {
  Mode mode = Mode::kEnforce;
  bool count_denied = false;
  bool only_looks = false;
};

/// A check to a Limiter with all that it needs, and its answer. Made once and used again and
/// again: after the first few times it allocates nothing. It must stay where it is until it is
/// answered, and be destroyed only then.
class CheckRequest {
 public:
  CheckRequest() = default;
  CheckRequest(const CheckRequest&) = delete;
  CheckRequest& operator=(const CheckRequest&) = delete;

  // ---- What is asked.

  /// Resets it to a check of cost 1 without attributes.
  void Clear();
  /// Something that is known of the call; copied. Rules decide what it means.
  void Add(std::string_view name, std::string_view value);
  /// How much the call uses of a quantity, instead of one cost for all limits; the name is copied.
  /// For checks and peeks by rules.
  void AddQuantity(std::string_view name, std::int64_t amount);
  /// The call names its quantities, even if there are none.
  void SetByQuantity() { is_by_quantity_ = true; }
  [[nodiscard]] bool is_by_quantity() const { return is_by_quantity_; }
  /// All quantities. Good until something is added.
  std::span<const UsedQuantity> GatherQuantities();
  /// A limit of the caller's own, instead of rules. `scope` is copied, as are the others.
  void AddLimit(const Key& key, const Limit& limit, std::int64_t cost, Mode mode = Mode::kEnforce);
  void AddLimit(const Key& key, const Limit& limit, std::int64_t cost, const Terms& terms);
  /// A limit of a rule that the caller has matched by itself, instead of by the rules in force. It
  /// is evaluated, counted and, while the store fails, degraded as if they had matched it;
  /// its key is copied. For checks, peeks and adjustments.
  void AddMatched(const match::MatchedLimit& matched, const Terms& terms = {});
  /// Replaces the numbers of the limit added last, of the same algorithm.
  void SetLimit(const Limit& limit) { own_.back().limit = limit; }
  /// Owns the rules and limits of AddMatched until it is cleared.
  void Keep(AnySnapshot snapshot) { snapshot_ = std::move(snapshot); }
  /// An adjustment's receipt, for the limit added last.
  void SetReceipt(const Receipt& receipt) { own_.back().receipt = receipt; }
  /// The limit added last is one of a rule, and so are its keys: the caller did not bring it.
  void SetOfRule() { own_.back().of_rule = true; }
  /// The tag of the limit added last identifies the caller: live entries know it as `key`.
  void SetCallerKey() { own_.back().has_caller_key = true; }
  /// The adjustment of the limit added last takes effect once; its answers are in `uses`.
  void SetSettlement(const store::Settlement& settlement) {
    own_.back().settlement = settlement;
    own_.back().settles = true;
  }

  store::Operation operation = store::Operation::kCheck;
  std::int64_t cost = 1;     ///< The call's own. Grants: how much.
  WallTime grant_expires{};  ///< Grants: when what is granted ends; zero: never.
  std::string only_rule{};   ///< Not empty: only limits of the rule with this id; not for checks.
  /// Concurrency: the slot to take, release or renew; 0 lets the limiter choose, once for all
  /// limits.
  std::uint64_t slot = 0;

  /// How long the caller waits for a store at most; 0: as long as the store is set to.
  Micros timeout{0};

  /// The caller's place in a trace. An observer may decide about `is_sampled`.
  TraceContext trace{};

  /// Run when a store answered later; never inside Ask.
  void (*on_done)(CheckRequest& check, void* context) = nullptr;
  void* context = nullptr;

  // ---- The answer.

  Ruling ruling = Ruling::kInvalid;  ///< kInvalid, kDegraded: `error` says why.
  bool allowed = false;
  bool degraded = false;
  ErrorCode error{};
  /// The outcome if the store, or its replacement in memory, had no room for a
  /// key.
  FullOutcome full = FullOutcome::kNone;
  /// kBlocked: until the call is admitted; negative: never.
  Micros block_rest{0};
  std::size_t affected = 0;  ///< Resets, releases, renewals: how many keys or slots.
  /// With the tightest limit; its index is one of `uses`. Meaningless if `uses` is empty.
  Decision decision{};

  /// How long it took, in all and from when the store was asked; zeros unless it was measured.
  [[nodiscard]] std::chrono::nanoseconds took() const { return took_; }
  [[nodiscard]] std::chrono::nanoseconds store_took() const { return store_took_; }
  /// When it was asked: the time that the limiter was given.
  [[nodiscard]] WallTime asked_at() const { return asked_at_; }
  /// Whether the store answered in a later turn.
  [[nodiscard]] bool waited() const { return waited_; }

  /// Whether `on_done` is still to be run.
  [[nodiscard]] bool pending() const { return call_.pending; }
  /// The result of each limit, with costs and verdicts in the limit's unit. Empty unless limits
  /// decided.
  [[nodiscard]] std::span<const store::KeyUse> uses() const { return uses_; }
  /// The rule and the limit behind a use; nulls for the caller's own limits.
  [[nodiscard]] const match::MatchedLimit& matched(std::size_t use) const { return matched_[use]; }
  [[nodiscard]] const match::Match& match() const { return match_; }
  /// The attributes that live entries and rules were matched with; empty if none were, as for
  /// limits that the caller brought.
  [[nodiscard]] match::Attributes matched_attributes() const {
    return is_by_attributes_ ? match::Attributes(attributes_) : match::Attributes();
  }
  /// Rules whose budget is per an attribute that the call lacks.
  [[nodiscard]] std::span<const rules::Rule* const> lacking() const {
    return is_matched_ ? match_.lacking() : std::span<const rules::Rule* const>();
  }
  /// Why the rules refused the call's cost, if they did.
  [[nodiscard]] const match::CostRefusal* refusal() const {
    return own_.empty() && cost >= 0 ? match_.refusal() : nullptr;
  }
  /// The live entry of kBlocked and kExempted; else null.
  [[nodiscard]] const match::LiveEntry* entry() const { return entry_; }
  /// Of an inspection: what lies behind a use.
  [[nodiscard]] const store::Inspection& inspection(std::size_t use) const {
    return inspections_[use];
  }
  /// The limits that the caller brought or matched itself, also where none was looked at.
  [[nodiscard]] std::size_t own_limits() const { return own_.size(); }
  [[nodiscard]] const Limit& own_limit(std::size_t i) const { return own_[i].limit; }
  [[nodiscard]] const Limit& last_limit() const { return own_.back().limit; }
  /// All attributes. Good until something is added.
  match::Attributes GatherAttributes();
  /// Of an attribute, if the call has it. Good until something is added.
  [[nodiscard]] std::optional<std::string_view> Find(std::string_view attribute) const;

 private:
  friend class Limiter;

  struct Piece {
    std::size_t offset;
    std::size_t size;
  };
  struct OwnLimit {
    Piece scope, tag, rest;
    Limit limit;
    std::int64_t cost;
    Terms terms;
    const rules::Rule* rule = nullptr;         ///< Null: the limit is the caller's own.
    const rules::NamedLimit* named = nullptr;  ///< Likewise.
    Receipt receipt{};
    bool of_rule = false;
    bool has_caller_key = false;
    bool settles = false;  ///< Else `settlement` means nothing.
    store::Settlement settlement{};
  };

  Piece Keep(std::string_view bytes);
  [[nodiscard]] std::string_view Text(Piece piece) const {
    return std::string_view(bytes_).substr(piece.offset, piece.size);
  }
  void MakeRoomForInspections();

  std::string bytes_;  ///< Of all names, values and keys.
  std::vector<std::pair<Piece, Piece>> pieces_;
  std::vector<Attribute> attributes_;
  std::vector<std::pair<Piece, std::int64_t>> amounts_;  ///< Names and amounts of quantities.
  std::vector<UsedQuantity> quantities_;
  bool is_by_quantity_ = false;
  bool has_parts_ = false;  ///< Some use counts in parts of its limit's unit, or only looks.
  std::vector<OwnLimit> own_;

  match::Match match_;
  std::vector<match::MatchedLimit> matched_;
  std::vector<store::KeyUse> uses_;
  std::vector<store::Inspection> inspections_;
  store::StoreCall call_;
  class Limiter* limiter_ = nullptr;
  const match::LiveEntry* entry_ = nullptr;
  AnySnapshot entries_;            ///< Owns `entry_`.
  std::vector<Limit> adjusted_;    ///< Limits of uses with the numbers of live entries.
  AnySnapshot snapshot_;           ///< Owns the objects that the answer points into.
  bool is_by_attributes_ = false;  ///< `attributes_` are those of this check.
  bool is_matched_ = false;        ///< `match_` is about this check.
  bool is_sampled_ = false;
  bool waited_ = false;
  WallTime asked_at_{};
  std::chrono::nanoseconds asked_{}, submitted_{};  ///< When, if it is sampled.
  std::chrono::nanoseconds took_{}, store_took_{};
};

}  // namespace sluice::limiter
