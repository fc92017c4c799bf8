#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "config_text/position.h"
#include "rules/count.h"
#include "rules/penalty.h"
#include "rules/schedule.h"

/// The content of a valid rule file: plain values, in the order of the file. Created by `reader.h`,
/// compiled by `match/rule_set.h`.
namespace sluice::rules {

enum class PatternKind : std::uint8_t {
  kExact,
  kGlob,   ///< '*' matches any bytes, '?' one byte, '\' escapes the next one.
  kRegex,  ///< RE2, searched anywhere in the value unless anchored.
  kCidr,   ///< An address or a network, IPv4 or IPv6.
};

struct Pattern {
  PatternKind kind = PatternKind::kExact;
  std::string text;  ///< As in the file; hosts as normalized by `ReadHost`.
  config_text::Position position;
};

enum class Presence : std::uint8_t { kAny, kPresent, kAbsent };

/// A condition on an attribute. Holds if the attribute matches any of the patterns.
struct Condition {
  std::string attribute;               ///< "tier": the tier of the call.
  Presence presence = Presence::kAny;  ///< `any_of` is empty unless kAny.
  std::vector<Pattern> any_of;
  bool ignore_case = false;  ///< For exact patterns of methods.
  config_text::Position position;
};

/// The cost of a call for a limit.
struct Cost {
  /// Set: the cost of every call. Otherwise, of calls with named quantities, their `count`; of
  /// others the attribute's value if the call has it, else the call's own cost.
  std::optional<std::int64_t> constant;
  /// Null for money, whose prices depend on the call's model.
  std::shared_ptr<const Count> count;
  std::string attribute;                 ///< May be empty.
  std::int64_t least = 1;                ///< Minimum cost; less is raised to it.
  std::optional<std::int64_t> max_cost;  ///< A higher cost is an error.
};

/// The levels that numbers come from, from the weakest to the strongest.
enum class Level : std::uint8_t { kBuiltIn, kDefaults, kTier, kRule, kOverride };

/// One number of a limit and its level.
struct Setting {
  std::string field;
  std::string_view quantity;  ///< The canonical name: "limit" also for a rate without a field.
  std::string value;          ///< As written in the file.
  Level level = Level::kBuiltIn;
  config_text::Position position;
};

struct NamedLimit {
  std::string name;  ///< Unique in its rule; part of its keys.
  std::string type;  ///< The unit that is counted: "requests", "tokens", …
  Limit limit;       ///< Undefined if `reject_all`. In parts: see `scale`.
  /// One unit has this many parts, which the store counts: weights of a sum may be fractions.
  std::int64_t scale = 1;
  /// A limit of 0: every call is denied, whatever the cost.
  bool reject_all = false;
  /// With `reject_all`: replaces the rule's limits if a call lacks an attribute of `per`.
  bool is_for_missing = false;
  bool shadow = false;  ///< Evaluated and counted, never enforced; see also Rule::shadow.
  /// In `from` of a rollout: this limit does not apply to callers outside of the rollout.
  bool is_absent = false;
  Schedule schedule{};
  Micros window{0};  ///< For headers: the period of the limit; 0 if there is none.
  Cost cost;
  std::optional<std::int64_t> max_settlement{};  ///< Maximum charge of a settlement.
  std::vector<Setting> settings;                 ///< To explain the origin of numbers.
  std::uint32_t number = 0;                      ///< Index of its counters.
};

/// The type of limits that count money, in nano-dollars.
inline constexpr std::string_view kMoney = "usd";
inline constexpr std::int64_t kNanosPerDollar = 1'000'000'000;

[[nodiscard]] inline bool CountsMoney(const NamedLimit& limit) { return limit.type == kMoney; }

/// Returns the maximum charge of a settlement, in parts: from the file, otherwise four times the
/// limit. Actual usage may exceed an estimate, but not without bound. `named` may be null.
[[nodiscard]] inline std::int64_t MaxSettlementOf(const NamedLimit* named, const Limit& limit) {
  constexpr std::int64_t kCapacities = 4;
  if (named != nullptr && named->max_settlement) {
    return *named->max_settlement <= kMaxAmount / named->scale
               ? *named->max_settlement * named->scale
               : kMaxAmount;
  }
  return limit.cap() <= kMaxAmount / kCapacities ? limit.cap() * kCapacities : kMaxAmount;
}

/// The limits of a rule for one kind of caller.
using Limits = std::vector<NamedLimit>;

/// The limits of a rule, or of one of its overrides. All variants have the same names in the same
/// order.
struct LimitVariants {
  Limits usual;
  std::map<std::string, Limits, std::less<>> by_tier;  ///< Tiers with different numbers.
};

/// Numbers of a rule for particular callers.
struct Override {
  Pattern whose;  ///< Pattern of the first attribute in `per`: exact or a glob.
  LimitVariants variants;
  LimitVariants from;  ///< For callers outside of a rollout with `from`.
};

/// New numbers for a share of the callers, chosen by a stable hash, so that all nodes agree and a
/// larger share only adds callers (`match/cohort.h`).
struct Rollout {
  static constexpr std::uint32_t kWhole = 10'000;

  std::uint32_t share = kWhole;  ///< In hundredths of a percent.
  std::string by;         ///< An attribute of `per`; empty: the client, of rules without `per`.
  bool has_from = false;  ///< False: the rule does not apply to the other callers.
  LimitVariants from;     ///< The numbers of the other callers.
  config_text::Position position;  ///< Position of the value of `rollout`.
};

/// The response to a denied caller instead of the default.
struct Denial {
  int status = 0;  ///< 0: the default.
  std::optional<std::string>
      body;                  ///< May contain placeholders such as "{limit}": see docs/rules.md.
  std::string content_type;  ///< Of `body`.
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
  kSkip,    ///< The rule does not match.
  kDeny,    ///< The call is denied.
  kShared,  ///< All such calls share one budget.
};

struct Rule {
  std::string id;
  std::int64_t version = 0;
  std::string description;
  config_text::Position position;
  bool enabled = true;
  bool final = false;  ///< If it matches, later rules are not evaluated.
  bool shadow = false;
  bool headers = true;
  Schedule schedule{};
  std::optional<Rollout> rollout;

  std::optional<std::string> tier;  ///< Calls of this tier only.
  std::vector<Condition> match;     ///< All must hold.

  /// Attributes whose values identify a budget; empty: one budget for all calls. Not set: the
  /// client, which is the API key or, without one, the address.
  std::optional<std::vector<std::string>> per;
  std::string hash_tag;  ///< The attribute that determines the cluster node of keys; empty: the
                         ///< first of `per`.

  std::optional<OnMissing> on_missing;  ///< Not set: kSkip, perhaps by mistake.
  /// With kDeny: the limit that such calls match, with `reject_all`. Created by RuleSet.
  Limits denial_of_missing;

  LimitVariants variants;
  std::vector<Override> overrides;  ///< Exact ones win over globs, then the first.

  Consistency consistency = Consistency::kExact;
  Priority priority = Priority::kStandard;
  OnStoreFailure on_store_failure = OnStoreFailure::kOpen;
  std::optional<Limit> emergency;  ///< With kLocal: replaces the limit.
  WhenFull when_full = WhenFull::kShared;

  std::optional<Denial> denial;
  std::optional<Penalty> penalty;  ///< For callers that the rule keeps denying.
  /// Index of the counters of the rule.
  std::uint32_t number = 0;
};

/// Returns whether a limit of a rule never denies.
[[nodiscard]] inline bool IsShadow(const Rule& rule, const NamedLimit& limit) {
  return rule.shadow || limit.shadow;
}

/// The tier of API keys that match a pattern.
struct KeyTier {
  Pattern key;
  std::string tier;
};

/// The prices of models that match a pattern: nano-dollars per unit of a quantity.
struct ModelPrice {
  Pattern model;
  Count price;
};

enum class DefaultAction : std::uint8_t { kAllow, kDeny };

struct RuleFile {
  std::string name;                                 ///< The file's name, for messages.
  std::vector<Rule> rules;                          ///< In the order of evaluation.
  std::vector<Pattern> allow;                       ///< API keys (exact or glob) and networks.
  std::vector<Pattern> deny;                        ///< Wins over `allow`.
  std::vector<KeyTier> keys;                        ///< Exact ones win over globs, then the first.
  std::vector<Pattern> known_keys;                  ///< Empty: every key is known.
  std::vector<std::string> endpoints;               ///< Templates such as "/v1/orders/{id}".
  std::vector<std::string> quantities;              ///< All that calls may name; sorted.
  std::vector<ModelPrice> models;                   ///< Exact ones win over globs, then the first.
  std::vector<std::string> tiers;                   ///< Names, in the order of the file.
  std::string default_tier;                         ///< May be empty.
  DefaultAction otherwise = DefaultAction::kAllow;  ///< For calls that match no rule.
};

}  // namespace sluice::rules
