#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "match/attributes.h"
#include "match/entry_effects.h"
#include "match/rule_set.h"
#include "rules/model.h"

namespace sluice::match {

/// Where a call's tier comes from.
enum class TierSource : std::uint8_t { kNone, kAttribute, kKeys, kDefault };

enum class RuleOutcome : std::uint8_t {
  kMatched,
  kDisabled,        ///< `enabled: false`.
  kAfterFinal,      ///< A rule before it matched and is `final: true`.
  kTierDiffers,     ///< The rule is for another tier.
  kConditionFails,  ///< See `failed`.
  kLacksAttribute,  ///< The call lacks an attribute that the budget is per. See `attribute`.
  kNoNumbers,       ///< The rule has no numbers for the call's tier.
  kNotStarted,      ///< `starts_at` is later.
  kExpired,         ///< `expires_at` is over.
  kNoLimitInForce,  ///< All limits that the caller has start later or have expired.
  kOutsideRollout,  ///< The caller is outside of the rollout, which has no `from`.
};

constexpr std::array<std::string_view, 11> LabelsOf(RuleOutcome /*any*/) {
  return {"matched",         "disabled",          "after_final",    "tier_differs",
          "condition_fails", "lacks_attribute",   "no_numbers",     "not_started",
          "expired",         "no_limit_in_force", "outside_rollout"};
}

/// A limit that the call matches: what it would take, and from which budget.
struct ExplainedLimit {
  const rules::NamedLimit* limit = nullptr;  ///< With the level of each number in its `settings`.
  std::string scope;                         ///< The three parts of the key.
  std::string tag;
  std::string rest;
  std::int64_t cost = 0;
  /// Set: the cost makes no sense, and says why. An enforced rule then refuses the call.
  std::string refusal;
  const LiveEntry* entry = nullptr;  ///< The live entry that exempts or changes it; null: none.
  std::optional<Limit> adjusted{};   ///< With the numbers of that entry.
};

/// A limit of a matched rule that does not apply to the call.
struct SkippedLimit {
  const rules::NamedLimit* limit = nullptr;
  std::string why;  ///< For people.
};

struct ExplainedRule {
  const rules::Rule* rule = nullptr;
  RuleOutcome outcome = RuleOutcome::kMatched;
  std::string why_not;                       ///< For people; empty if it matched.
  const rules::Condition* failed = nullptr;  ///< The first condition that does not hold.
  std::string attribute;                     ///< The attribute whose value decided, if one did.
  std::optional<std::string> value;          ///< That value; not set: the call has none.

  // If it matched:
  bool is_missing = false;  ///< `attribute` is, and `on_missing` says what follows.
  std::string tier;         ///< The tier that the rule takes the call for.
  const rules::Override* override_taken = nullptr;
  bool tier_numbers = false;  ///< Numbers that only this tier has.
  std::vector<ExplainedLimit> limits;
  std::vector<SkippedLimit> skipped;

  Cohort cohort = Cohort::kAll;  ///< Of a rule with a rollout, if its conditions hold.
};

/// Explains the result of a rule file for one call. Points into the file.
struct Explanation {
  Listed listed = Listed::kNo;  ///< Not kNo: no rule is looked at, and `rules` is empty.
  const rules::Pattern* list_entry = nullptr;
  bool key_unknown = false;  ///< The call's API key counts as absent: see `known_keys`.
  bool has_known_key = false;
  std::string tier;
  TierSource tier_source = TierSource::kNone;
  const rules::KeyTier* tier_key = nullptr;  ///< With kKeys: which entry.
  std::string endpoint;                      ///< Without its query.
  std::string endpoint_template;             ///< May be empty.
  std::string address;                       ///< As it is written in keys.
  std::vector<ExplainedRule> rules;          ///< All of the file, in their order.
  bool refused = false;                      ///< A cost makes no sense: see the limits' `refusal`.
  bool matched = false;                      ///< Else the file's `otherwise` decides.
  // Of ExplainEntries:
  std::vector<const LiveEntry*> entries{};  ///< In force and matching, in their order.
  const LiveEntry* block = nullptr;         ///< Denies the call.
  const LiveEntry* exemption = nullptr;     ///< Admits the call.
};

/// Looks at one rule after the other, in the plainest way: slow, and easily seen to be right.
/// `RuleSet::Find` is tested against it.
[[nodiscard]] Explanation Explain(const rules::RuleFile& file, Attributes attributes,
                                  const Usage& usage, WallTime now);
[[nodiscard]] Explanation Explain(const RuleSet& rules, Attributes attributes, const Usage& usage,
                                  WallTime now);

/// Adds what live entries do to the call. `found` are those that match it (EntryMatches::found),
/// and must outlive the explanation.
void ExplainEntries(FoundEntries found, Explanation& out);

}  // namespace sluice::match
