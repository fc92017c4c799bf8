#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>
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
  Key key;  ///< Points into the rule set, the match and the call's attributes.
  std::int64_t cost = 1;
  Cohort cohort = Cohort::kAll;
};

enum class Listed : std::uint8_t { kNo, kAllowed, kDenied };

/// The reason why a call can't be evaluated: its cost is invalid.
struct CostRefusal {
  const rules::Rule* rule = nullptr;
  const rules::NamedLimit* limit = nullptr;
  std::string_view attribute;  ///< Empty: the call's own cost.
  std::string_view sent;       ///< The attribute's value.
  std::int64_t cost = 0;       ///< The call's own.
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

  /// Finds the limits that a call matches at `now`. `cost` is the call's own, ≥ 0. A rule or limit
  /// in shadow whose cost makes no sense is left out, instead of refusing the call.
  void Find(Attributes attributes, std::int64_t cost, WallTime now, Match& match) const;

  [[nodiscard]] const rules::RuleFile& file() const { return file_; }

 private:
  struct Compiled;

  explicit RuleSet(rules::RuleFile file);

  void ReadCall(Attributes attributes, MatchInput& call) const;
  void FindTier(MatchInput& call) const;
  /// True if the call is on one, so that no rule is looked at.
  bool MatchLists(Match& match) const;
  void MatchRules(std::int64_t cost, WallTime now, Match& match) const;
  enum class ScanStep : std::uint8_t { kGoOn, kStop };
  ScanStep MatchRule(std::uint32_t number, std::int64_t cost, WallTime now, Match& match) const;

  rules::RuleFile file_;
  std::unique_ptr<const Compiled> compiled_;  ///< Points into `file_`.
};

}  // namespace sluice::match
