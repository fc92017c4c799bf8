#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>
#include <sluice/result.h>
#include <sluice/rules.h>
#include <sluice/time.h>

#include "base/key.h"
#include "match/attributes.h"
#include "match/cohort.h"
#include "match/match_input.h"
#include "rules/model.h"

namespace sluice::match {

/// A limit that a call matches: everything that a store needs to decide.
struct MatchedLimit {
  const rules::Rule* rule = nullptr;
  const rules::NamedLimit* limit = nullptr;
  Key key;                ///< Points into the rule set, the match and the call's attributes.
  std::int64_t cost = 1;  ///< In parts of the limit's unit.
  Cohort cohort = Cohort::kAll;
  /// Of a call with quantities: what the limit counts of them; null: a constant.
  const rules::Count* count = nullptr;
};

enum class Listed : std::uint8_t { kNo, kAllowed, kDenied };

/// What a call consumes: a cost, or named quantities, of which each limit counts some.
struct Usage {
  // NOLINTNEXTLINE(google-explicit-constructor): most calls have nothing but a cost.
  Usage(std::int64_t its_cost) : cost(its_cost) {}
  explicit Usage(std::span<const UsedQuantity> its_quantities)
      : quantities(its_quantities), is_by_quantity(true) {}

  std::int64_t cost = 1;  ///< ≥ 0.
  std::span<const UsedQuantity> quantities{};
  bool is_by_quantity = false;
  bool only_looks = false;  ///< Nothing is consumed: a limit of money needs no quantities.
};

/// The reason why a call can't be evaluated: its cost or its quantities are invalid.
struct CostRefusal {
  ErrorCode error = ErrorCode::kInvalidCost;
  const rules::Rule* rule = nullptr;         ///< Null: of kUnknownQuantity, and of amounts.
  const rules::NamedLimit* limit = nullptr;  ///< Likewise.
  std::string_view attribute{};              ///< Empty: the call's own cost, or quantities.
  std::string_view sent{};                   ///< The attribute's value.
  std::int64_t cost = 0;                     ///< The call's own, or the sum of its quantities.
  std::string_view quantity{};               ///< The quantity that is unknown, missing or unpriced.
  std::string_view model{};                  ///< kNoPrice: the call's.
  const rules::RuleFile* file = nullptr;     ///< kUnknownQuantity: knows the others.
};

/// The matches of one call. Made once and used for many calls: after the first few it
/// allocates nothing. What it points to lives as long as the attributes, the rule set, and until
/// the next call. For one thread at a time.
class Match {
 public:
  Match() = default;
  Match(const Match&) = delete;
  Match& operator=(const Match&) = delete;

  /// Not kNo: no rule was looked at.
  [[nodiscard]] Listed listed() const { return listed_; }
  /// The entry of the list, if there is one.
  [[nodiscard]] const rules::Pattern* list_entry() const { return list_entry_; }
  /// In the order of the rules, and of the limits in each rule.
  [[nodiscard]] std::span<const MatchedLimit> limits() const { return limits_; }
  /// Set: the call is to be refused, and `limits` is empty.
  [[nodiscard]] const CostRefusal* refusal() const { return refused_ ? &refusal_ : nullptr; }
  /// False: no rule matched, and the file's `otherwise` decides, unless the caller is listed.
  [[nodiscard]] bool matched() const { return matched_; }
  /// Rules whose conditions hold for the call, which lacks an attribute that their budget is per.
  /// Rules that deny such calls, or share a budget among them, still match.
  [[nodiscard]] std::span<const rules::Rule* const> lacking() const { return lacking_; }
  /// The call's, from where it is known first; may be empty.
  [[nodiscard]] std::string_view tier() const { return tier_; }
  /// Whether the call has an API key, and one that the file knows. Only after a Find.
  [[nodiscard]] bool has_known_key() const { return call_.Has(kApiKeySlot); }

 private:
  friend class RuleSet;

  /// Limits whose rest lies in `text_`, which may still move while rules are looked at.
  struct Rest {
    std::size_t first_limit;
    std::size_t begin;
    std::size_t size;
  };

  void Clear(std::size_t slots);

  Listed listed_ = Listed::kNo;
  const rules::Pattern* list_entry_ = nullptr;
  std::vector<MatchedLimit> limits_;
  bool refused_ = false;
  bool matched_ = false;
  CostRefusal refusal_;
  std::vector<const rules::Rule*> lacking_;
  std::string_view tier_;

  MatchInput call_;
  std::vector<std::uint32_t> candidates_;
  std::string text_;
  std::vector<Rest> rests_;
};

/// Rules, compiled: immutable, shared by all threads, and matched through indexes, so that
/// many rules cost little more than few: `./dev bench rules`. See docs/rules.md for what a match
/// means.
///
///     auto rules = RuleSet::Compile(std::move(*Read("rules.yaml", text).file));
///     Match match;  // One for each thread, kept.
///     rules->Find(attributes, 1, now, match);
///     for (const MatchedLimit& matched : match.limits()) …
class RuleSet {
 public:
  /// Takes a file that `Read` found right.
  static std::shared_ptr<const RuleSet> Compile(rules::RuleFile file);
  ~RuleSet();

  /// Finds the limits that a call matches at `now`. A rule or limit in shadow whose cost makes no
  /// sense is left out, instead of refusing the call.
  void Find(Attributes attributes, const Usage& usage, WallTime now, Match& match) const;

  /// Returns the prices of a model; null: it has none.
  [[nodiscard]] const rules::Count* PriceOf(std::string_view model) const;

  [[nodiscard]] const rules::RuleFile& file() const { return file_; }

 private:
  struct Compiled;

  explicit RuleSet(rules::RuleFile file);

  void ReadCall(Attributes attributes, MatchInput& call) const;
  void FindTier(MatchInput& call) const;
  /// True if the call is on one, so that no rule is looked at.
  bool MatchLists(Match& match) const;
  /// False: the call is refused.
  bool CheckQuantities(const Usage& usage, Match& match) const;
  void MatchRules(const Usage& usage, WallTime now, Match& match) const;
  enum class ScanStep : std::uint8_t { kGoOn, kStop };
  ScanStep MatchRule(std::uint32_t number, const Usage& usage, WallTime now, Match& match) const;

  rules::RuleFile file_;
  std::unique_ptr<const Compiled> compiled_;  ///< Points into `file_`.
};

}  // namespace sluice::match
