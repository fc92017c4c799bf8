#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/decision.h>
#include <sluice/result.h>
#include <sluice/rules.h>

#include "rules/rule_set.h"
#include "store/store.h"

namespace sluice::limiter {

/// A question to a Limiter with all that it needs, and its answer. Made once and used again and
/// again: after the first few times it allocates nothing. It must stay where it is until it is
/// answered, and be destroyed only then.
class Question {
 public:
  Question() = default;
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  // ---- What is asked.

  /// Back to a check of cost 1 about nobody.
  void Clear();
  /// Something that is known of the call; copied. Rules decide what it means.
  void Add(std::string_view name, std::string_view value);
  /// A limit of the caller's own, instead of rules. `scope` is copied, as are the others.
  void AddLimit(const Key& key, const Limit& limit, std::int64_t cost, Mode mode = Mode::kEnforce);
  /// An adjustment's receipt, for the limit added last.
  void SetReceipt(const Receipt& receipt) { own_.back().receipt = receipt; }
  /// The limit added last is one of a rule that leases: an adjustment is told to other nodes.
  void SetLeased(bool leased) { own_.back().leased = leased; }

  store::Operation operation = store::Operation::kCheck;
  std::int64_t cost = 1;  ///< The call's own. Grants: how much.
  /// Concurrency: the slot to take, release or renew; 0 lets the limiter choose, once for all
  /// limits.
  std::uint64_t slot = 0;

  /// How long the caller waits for a store at most; 0: as long as the store is set to.
  Micros patience{0};

  /// Run when a store answered later; never inside Ask.
  void (*on_done)(Question& question, void* context) = nullptr;
  void* context = nullptr;

  // ---- The answer.

  Ruling ruling = Ruling::kInvalid;  ///< kInvalid, kDegraded: `error` says why.
  bool allowed = false;
  bool degraded = false;
  ErrorCode error{};
  std::size_t affected = 0;  ///< Resets, releases, renewals: how many keys or slots.
  /// What the caller should be told; its index is one of `uses`. Of no meaning if `uses` is empty.
  Decision headline{};

  /// Whether `on_done` is still to be run.
  [[nodiscard]] bool pending() const { return call_.pending; }
  /// What each limit said. Empty unless limits decided.
  [[nodiscard]] std::span<const store::Use> uses() const { return uses_; }
  /// The rule and the limit behind a use; nulls for the caller's own limits.
  [[nodiscard]] const rules::MetLimit& met(std::size_t use) const { return met_[use]; }
  [[nodiscard]] const rules::Match& match() const { return match_; }
  /// Why the rules refused the call's cost, if they did.
  [[nodiscard]] const rules::CostRefusal* refusal() const {
    return own_.empty() && cost >= 0 ? match_.refusal() : nullptr;
  }
  /// Of an inspection: what lies behind a use.
  [[nodiscard]] const store::Inspection& inspection(std::size_t use) const {
    return inspections_[use];
  }
  /// The limits that the caller brought, also where none was looked at.
  [[nodiscard]] std::size_t own_limits() const { return own_.size(); }
  [[nodiscard]] const Limit& own_limit(std::size_t i) const { return own_[i].limit; }
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
    Mode mode;
    Receipt receipt{};
    bool leased = false;
  };

  Piece Keep(std::string_view bytes);
  [[nodiscard]] std::string_view Text(Piece piece) const {
    return std::string_view(bytes_).substr(piece.offset, piece.size);
  }
  rules::Attributes GatherAttributes();
  void MakeRoomForInspections();

  std::string bytes_;  ///< Of all names, values and keys.
  std::vector<std::pair<Piece, Piece>> pieces_;
  std::vector<rules::Attribute> attributes_;
  std::vector<OwnLimit> own_;

  rules::Match match_;
  std::vector<rules::MetLimit> met_;
  std::vector<store::Use> uses_;
  std::vector<store::Inspection> inspections_;
  store::Call call_;
  class Limiter* limiter_ = nullptr;
  std::shared_ptr<const rules::RuleSet> rules_;  ///< Held while a store has the question.
  bool is_sampled_ = false;
  std::chrono::nanoseconds asked_{}, submitted_{};  ///< When, if it is sampled.
};

}  // namespace sluice::limiter
