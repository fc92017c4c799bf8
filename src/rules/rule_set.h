#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>

#include "base/key.h"
#include "rules/attributes.h"
#include "rules/call.h"
#include "rules/model.h"

namespace sluice::rules {

/// A limit that a call meets: everything that a store must be asked.
struct MetLimit {
  const Rule* rule = nullptr;
  const NamedLimit* limit = nullptr;
  Key key;  ///< Points into the rule set, the match and the call's attributes.
  std::int64_t cost = 1;
};

enum class Listed : std::uint8_t { kNo, kAllowed, kDenied };

/// Why a call can't be judged: what it sent as a cost makes no sense.
struct CostRefusal {
  const Rule* rule = nullptr;
  const NamedLimit* limit = nullptr;
  std::string_view attribute;  ///< Empty: the call's own cost.
  std::string_view sent;       ///< The attribute's value.
  std::int64_t cost = 0;       ///< The call's own.
};

/// What a rule set says of a call. Made once and used for many calls: after the first few it
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
  [[nodiscard]] const Pattern* list_entry() const { return list_entry_; }
  /// In the order of the rules, and of the limits in each rule.
  [[nodiscard]] std::span<const MetLimit> limits() const { return limits_; }
  /// Set: the call is to be refused, and `limits` is empty.
  [[nodiscard]] const CostRefusal* refusal() const { return refused_ ? &refusal_ : nullptr; }
  /// False: no rule met the call, and the file's `otherwise` decides, unless it is listed.
  [[nodiscard]] bool met() const { return met_; }
  /// Rules whose conditions hold but which lack an attribute that their budget is per.
  [[nodiscard]] std::span<const Rule* const> lacking() const { return lacking_; }
  /// The call's, from where it is known first; may be empty.
  [[nodiscard]] std::string_view tier() const { return tier_; }

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
  const Pattern* list_entry_ = nullptr;
  std::vector<MetLimit> limits_;
  bool refused_ = false;
  bool met_ = false;
  CostRefusal refusal_;
  std::vector<const Rule*> lacking_;
  std::string_view tier_;

  Call call_;
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
///     rules->Find(attributes, 1, match);
///     for (const MetLimit& met : match.limits()) …
class RuleSet {
 public:
  /// Takes a file that `Read` found right.
  static std::shared_ptr<const RuleSet> Compile(RuleFile file);
  ~RuleSet();

  /// Which limits a call meets. `cost` is the call's own, ≥ 0. A rule in shadow whose cost makes
  /// no sense is left out, instead of refusing the call.
  void Find(Attributes attributes, std::int64_t cost, Match& match) const;

  [[nodiscard]] const RuleFile& file() const { return file_; }

 private:
  struct Compiled;

  explicit RuleSet(RuleFile file);

  void ReadCall(Attributes attributes, Call& call) const;
  void FindTier(Call& call) const;
  /// True if the call is on one, so that no rule is looked at.
  bool LookAtLists(Match& match) const;
  void LookAtRules(std::int64_t cost, Match& match) const;
  enum class Next : std::uint8_t { kGoOn, kStop };
  Next LookAtRule(std::uint32_t number, std::int64_t cost, Match& match) const;

  RuleFile file_;
  std::unique_ptr<const Compiled> compiled_;  ///< Points into `file_`.
};

}  // namespace sluice::rules
