#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "config_text/position.h"
#include "rules/schedule.h"

/// The content of a valid rule file: plain values, in the order of the file.
/// `reader.h` makes it, `rule_set.h` makes of it what answers calls.
namespace sluice::rules {

enum class PatternKind : std::uint8_t {
  kExact,
  kGlob,   ///< '*' stands for any bytes, '?' for one, '\' takes the next as it is.
  kRegex,  ///< RE2, found anywhere in the value unless anchored.
  kCidr,   ///< An address or a network, IPv4 or IPv6.
};

struct Pattern {
  PatternKind kind = PatternKind::kExact;
  std::string text;  ///< As it stands in the file; of hosts as `ReadHost` makes it.
  config_text::Position position;
};

enum class Presence : std::uint8_t { kAny, kPresent, kAbsent };

/// A condition on an attribute. Holds if the attribute matches any of the patterns.
struct Condition {
  std::string attribute;               ///< "tier": the tier that the call is found to have.
  Presence presence = Presence::kAny;  ///< Else `any_of` is empty.
  std::vector<Pattern> any_of;
  bool ignore_case = false;  ///< Exact patterns only: methods.
  config_text::Position position;
};

/// The cost of a call for a limit.
struct Cost {
  /// Set: every call takes so much. Else the attribute says, if the call has it, and else the
  /// call's own cost.
  std::optional<std::int64_t> constant;
  std::string attribute;                 ///< May be empty.
  std::int64_t least = 1;                ///< Less is raised to this.
  std::optional<std::int64_t> max_cost;  ///< More is refused.
};

/// From the weakest to the strongest.
enum class Level : std::uint8_t { kBuiltIn, kDefaults, kTier, kRule, kOverride };

/// One number of a limit and which level said it.
struct Setting {
  std::string field;
  std::string_view quantity;  ///< The field's usual name: "limit" also of a rate without a field.
  std::string value;          ///< As it stands in the file.
  Level level = Level::kBuiltIn;
  config_text::Position position;
};

struct NamedLimit {
  std::string name;  ///< Unique in its rule; part of its keys.
  std::string type;  ///< The unit that is counted: "requests", "tokens", …
  Limit limit;       ///< Of no meaning if `reject_all`.
  /// Nothing ever fits: who meets this is denied, whatever the cost. For a number of 0.
  bool reject_all = false;
  /// With `reject_all`: stands for the rule's limits where a call lacks an attribute of `per`.
  bool is_for_missing = false;
  bool shadow = false;  ///< Evaluated and counted, never enforced; the rule may say so, too.
  /// In `from` of a rollout: callers outside of the rollout don't have this limit.
  bool is_absent = false;
  Schedule schedule{};
  Micros window{
      0};  ///< For headers: the time that the limit is said to be per; 0 if there is none.
  Cost cost;
  std::optional<std::int64_t> max_settlement{};  ///< A settlement of more takes so much.
  std::vector<Setting> settings;                 ///< For people who ask where a number came from.
  std::uint32_t number = 0;                      ///< Index of its counters.
};

/// Maximum charge of a settlement: from the file, otherwise four times the limit. Real
/// use may exceed an estimate, but not by any amount. `named` may be null.
[[nodiscard]] inline std::int64_t MaxSettlementOf(const NamedLimit* named, const Limit& limit) {
  constexpr std::int64_t kCapacities = 4;
  if (named != nullptr && named->max_settlement) return *named->max_settlement;
  return limit.cap() <= kMaxAmount / kCapacities ? limit.cap() * kCapacities : kMaxAmount;
}

/// The limits of a rule for one kind of caller.
using Limits = std::vector<NamedLimit>;

/// The limits of a rule, or of one of its overrides. All variants have the same names in the same
/// order.
struct LimitVariants {
  Limits usual;
  std::map<std::string, Limits, std::less<>> by_tier;  ///< Tiers that change something.
};

/// Other numbers for some callers of a rule.
struct Override {
  Pattern whose;  ///< Of the first attribute that the budget is per: exact or a glob.
  LimitVariants variants;
  LimitVariants from;  ///< With a rollout that has `from`: for callers outside of it.
};

/// New numbers for a share of the callers. A caller is in it or not by a stable hash, so that all
/// nodes agree and a larger share only adds callers (`match/cohort.h`).
struct Rollout {
  static constexpr std::uint32_t kWhole = 10'000;

  std::uint32_t share = kWhole;  ///< In hundredths of a percent.
  std::string by;         ///< An attribute of `per`; empty: the client, of rules without `per`.
  bool has_from = false;  ///< Else the rule does not apply to the other callers.
  LimitVariants from;     ///< The numbers of the other callers.
  config_text::Position position;  ///< Where the value of `rollout` begins.
};

/// The response to a denied caller instead of the default.
struct Denial {
  int status = 0;                   ///< 0: the usual one.
  std::optional<std::string> body;  ///< May have places such as "{limit}": see docs/rules.md.
  std::string content_type;         ///< Of `body`.
  std::vector<std::pair<std::string, std::string>> headers;
};

enum class Consistency : std::uint8_t { kExact, kLeased };
enum class Priority : std::uint8_t { kStandard, kStrict };
enum class OnStoreFailure : std::uint8_t { kOpen, kClosed, kLocal };
constexpr std::array<std::string_view, 3> LabelsOf(OnStoreFailure /*any*/) {
  return {"open", "closed", "local"};
}
/// The treatment of a call whose key has no room in a bounded store.
enum class WhenFull : std::uint8_t {
  kOpen,
  kClosed,
  kShared,  ///< All such keys share one budget of the limit.
};

/// The treatment of calls that lack an attribute of `per`.
enum class OnMissing : std::uint8_t {
  kSkip,    ///< The rule is not met.
  kDeny,    ///< The call is denied.
  kShared,  ///< All such calls share one budget.
};

struct Rule {
  std::string id;
  std::int64_t version = 0;
  std::string description;
  config_text::Position position;
  bool enabled = true;
  bool final = false;  ///< Rules after this one are not looked at if it is met.
  bool shadow = false;
  bool headers = true;
  Schedule schedule{};
  std::optional<Rollout> rollout;

  std::optional<std::string> tier;  ///< Calls of this tier only.
  std::vector<Condition> match;     ///< All must hold.

  /// Which attributes share one budget; empty: all calls. Not set: the client, which is the API key
  /// or, without one, the address.
  std::optional<std::vector<std::string>> per;
  std::string
      hash_tag;  ///< The attribute that keys are placed by in a cluster; empty: the first of `per`.

  std::optional<OnMissing> on_missing;  ///< Not set: kSkip, and not known to be meant.
  /// With kDeny: what such calls meet, one limit that nothing fits in. RuleSet makes it.
  Limits denial_of_missing;

  LimitVariants variants;
  std::vector<Override> overrides;  ///< Exact ones win over globs, then the first.

  Consistency consistency = Consistency::kExact;
  Priority priority = Priority::kStandard;
  OnStoreFailure on_store_failure = OnStoreFailure::kOpen;
  std::optional<Limit> emergency;  ///< With kLocal: instead of the limit itself.
  WhenFull when_full = WhenFull::kShared;

  std::optional<Denial> denial;
  /// Index of the counters of the rule.
  std::uint32_t number = 0;
};

/// Whether a limit of a rule never denies.
[[nodiscard]] inline bool IsShadow(const Rule& rule, const NamedLimit& limit) {
  return rule.shadow || limit.shadow;
}

/// Which tier a key is of.
struct KeyTier {
  Pattern key;
  std::string tier;
};

enum class DefaultAction : std::uint8_t { kAllow, kDeny };

struct RuleFile {
  std::string name;                                 ///< The file's, for messages.
  std::vector<Rule> rules;                          ///< In the order in which they are looked at.
  std::vector<Pattern> allow;                       ///< API keys (exact or glob) and networks.
  std::vector<Pattern> deny;                        ///< Wins over `allow`.
  std::vector<KeyTier> keys;                        ///< Exact ones win over globs, then the first.
  std::vector<Pattern> known_keys;                  ///< Empty: every key is known.
  std::vector<std::string> endpoints;               ///< Templates such as "/v1/orders/{id}".
  std::vector<std::string> tiers;                   ///< Names, in the order of the file.
  std::string default_tier;                         ///< May be empty.
  DefaultAction otherwise = DefaultAction::kAllow;  ///< For calls that no rule meets.
};

}  // namespace sluice::rules
