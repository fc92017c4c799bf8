#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/limit.h>
#include <sluice/time.h>

/// What a rule file says, once it is read and found right: plain values, in the order of the file.
/// `reader.h` makes it, `rule_set.h` makes of it what answers calls.
namespace sluice::rules {

/// Where something stands in a file; both count from 1.
struct Position {
  int line = 0;
  int column = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

enum class PatternKind : std::uint8_t {
  kExact,
  kGlob,   ///< '*' stands for any bytes, '?' for one, '\' takes the next as it is.
  kRegex,  ///< RE2, found anywhere in the value unless anchored.
  kCidr,   ///< An address or a network, IPv4 or IPv6.
};

struct Pattern {
  PatternKind kind = PatternKind::kExact;
  std::string text;  ///< As it stands in the file.
  Position position;
};

enum class Presence : std::uint8_t { kAny, kPresent, kAbsent };

/// What an attribute must be like. Holds if the attribute matches any of the patterns.
struct Condition {
  std::string attribute;               ///< "tier": the tier that the call is found to have.
  Presence presence = Presence::kAny;  ///< Else `any_of` is empty.
  std::vector<Pattern> any_of;
  bool ignore_case = false;  ///< Exact patterns only: methods.
  Position position;
};

/// What a call takes from a limit.
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
  std::string value;  ///< As it stands in the file.
  Level level = Level::kBuiltIn;
  Position position;
};

struct NamedLimit {
  std::string name;  ///< Unique in its rule; part of its keys.
  std::string type;  ///< What is counted: "requests", "tokens", …
  Limit limit;       ///< Of no meaning if `reject_all`.
  /// Nothing ever fits: who meets this is denied, whatever the cost. For a number of 0.
  bool reject_all = false;
  Micros window{
      0};  ///< For headers: the time that the limit is said to be per; 0 if there is none.
  Cost cost;
  std::vector<Setting> settings;  ///< For people who ask where a number came from.
  std::uint32_t number = 0;       ///< For whoever counts: see LiveRules.
};

/// What a rule means for one kind of caller.
using Limits = std::vector<NamedLimit>;

/// The limits of a rule, or of one of its overrides. All variants have the same names in the same
/// order.
struct Variants {
  Limits usual;
  std::map<std::string, Limits, std::less<>> by_tier;  ///< Tiers that change something.
};

/// Other numbers for some callers of a rule.
struct Override {
  Pattern whose;  ///< Of the first attribute that the budget is per: exact or a glob.
  Variants variants;
};

/// What a denied caller gets instead of the usual answer.
struct Denial {
  int status = 0;                   ///< 0: the usual one.
  std::optional<std::string> body;  ///< May have places such as "{limit}": see docs/rules.md.
  std::string content_type;         ///< Of `body`.
  std::vector<std::pair<std::string, std::string>> headers;
};

enum class Consistency : std::uint8_t { kExact, kLeased };
enum class Priority : std::uint8_t { kStandard, kStrict };
enum class OnStoreFailure : std::uint8_t { kOpen, kClosed, kLocal };

struct Rule {
  std::string id;
  std::int64_t version = 0;
  std::string description;
  Position position;
  bool enabled = true;
  bool final = false;  ///< Rules after this one are not looked at if it is met.
  bool shadow = false;
  bool headers = true;

  std::optional<std::string> tier;  ///< Calls of this tier only.
  std::vector<Condition> match;     ///< All must hold.

  /// Which attributes share one budget; empty: all calls. Not set: the client, which is the API key
  /// or, without one, the address.
  std::optional<std::vector<std::string>> per;
  std::string
      hash_tag;  ///< The attribute that keys are placed by in a cluster; empty: the first of `per`.

  Variants variants;
  std::vector<Override> overrides;  ///< Exact ones win over globs, then the first.

  Consistency consistency = Consistency::kExact;
  Priority priority = Priority::kStandard;
  OnStoreFailure on_store_failure = OnStoreFailure::kOpen;
  std::optional<Limit> emergency;  ///< With kLocal: instead of the limit itself.

  std::optional<Denial> denial;
};

/// Which tier a key is of.
struct KeyTier {
  Pattern key;
  std::string tier;
};

enum class Default : std::uint8_t { kAllow, kDeny };

struct RuleFile {
  std::string name;                     ///< The file's, for messages.
  std::vector<Rule> rules;              ///< In the order in which they are looked at.
  std::vector<Pattern> allow;           ///< API keys (exact or glob) and networks.
  std::vector<Pattern> deny;            ///< Wins over `allow`.
  std::vector<KeyTier> keys;            ///< Exact ones win over globs, then the first.
  std::vector<Pattern> known_keys;      ///< Empty: every key is known.
  std::vector<std::string> endpoints;   ///< Templates such as "/v1/orders/{id}".
  std::vector<std::string> tiers;       ///< Names, in the order of the file.
  std::string default_tier;             ///< May be empty.
  Default otherwise = Default::kAllow;  ///< For calls that no rule meets.
};

}  // namespace sluice::rules
