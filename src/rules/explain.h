#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/attributes.h"
#include "rules/model.h"
#include "rules/rule_set.h"

namespace sluice::rules {

/// Where a call's tier comes from.
enum class TierSource : std::uint8_t { kNone, kAttribute, kKeys, kDefault };

enum class RuleOutcome : std::uint8_t {
  kMet,
  kDisabled,        ///< `enabled: false`.
  kAfterFinal,      ///< A rule before it is met and says `final: true`.
  kTierDiffers,     ///< The rule is for another tier.
  kConditionFails,  ///< See `failed`.
  kLacksAttribute,  ///< The call lacks an attribute that the budget is per. See `attribute`.
  kNoNumbers,       ///< The rule has no numbers for the call's tier.
};

/// A limit that the call meets: what it would take, and from which budget.
struct ExplainedLimit {
  const NamedLimit* limit = nullptr;  ///< With the level of each number in its `settings`.
  std::string scope;                  ///< The three parts of the key.
  std::string tag;
  std::string rest;
  std::int64_t cost = 0;
  /// Set: the cost makes no sense, and says why. An enforced rule then refuses the call.
  std::string refusal;
};

struct ExplainedRule {
  const Rule* rule = nullptr;
  RuleOutcome outcome = RuleOutcome::kMet;
  std::string why_not;                ///< For people; empty if it is met.
  const Condition* failed = nullptr;  ///< The first condition that does not hold.
  std::string attribute;              ///< Whose value decided, where one did.
  std::optional<std::string> value;   ///< That value; not set: the call has none.

  // If it is met:
  std::string tier;  ///< The tier that the rule takes the call for.
  const Override* override_taken = nullptr;
  bool tier_numbers = false;  ///< Numbers that only this tier has.
  std::vector<ExplainedLimit> limits;
};

/// What a rule file says of one call, and why. Points into the file.
struct Explanation {
  Listed listed = Listed::kNo;  ///< Not kNo: no rule is looked at, and `rules` is empty.
  const Pattern* list_entry = nullptr;
  bool key_unknown = false;  ///< The call's API key counts as absent: see `known_keys`.
  std::string tier;
  TierSource tier_source = TierSource::kNone;
  const KeyTier* tier_key = nullptr;  ///< With kKeys: which entry.
  std::string endpoint;               ///< Without its query.
  std::string endpoint_template;      ///< May be empty.
  std::string address;                ///< As it is written in keys.
  std::vector<ExplainedRule> rules;   ///< All of the file, in their order.
  bool refused = false;               ///< A cost makes no sense: see the limits' `refusal`.
  bool met = false;                   ///< Else the file's `otherwise` decides.
};

/// Looks at one rule after the other, in the plainest way: slow, and easily seen to be right.
/// `RuleSet::Find` is tested against it.
[[nodiscard]] Explanation Explain(const RuleFile& file, Attributes attributes, std::int64_t cost);
[[nodiscard]] Explanation Explain(const RuleSet& rules, Attributes attributes, std::int64_t cost);

}  // namespace sluice::rules
