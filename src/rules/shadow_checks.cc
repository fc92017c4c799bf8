#include "rules/shadow_checks.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/network.h"
#include "config_text/suggestion.h"
#include "rules/pattern_cover.h"

namespace sluice::rules {
namespace {

// Maximum number of compared pairs, so that files with thousands of final rules load quickly.
constexpr int kMaxComparisons = 1'000'000;
constexpr std::size_t kMaxIndexed = 64;
constexpr std::size_t kMaxPrefix = 128;

bool HasCondition(const Rule& rule, std::string_view attribute) {
  return std::any_of(rule.match.begin(), rule.match.end(),
                     [&](const Condition& c) { return c.attribute == attribute; });
}

/// Whether every call that matches the rule has the attribute.
bool Guarantees(const Rule& rule, std::string_view attribute) {
  if (rule.per && std::find(rule.per->begin(), rule.per->end(), attribute) != rule.per->end()) {
    return true;
  }
  return std::any_of(rule.match.begin(), rule.match.end(), [&](const Condition& c) {
    return c.attribute == attribute && NeedsAttribute(c);
  });
}

bool HasBudgetFor(const Rule& wide, const Rule& narrow) {
  if (!wide.per) {
    return !narrow.per || Guarantees(narrow, "api_key") || Guarantees(narrow, "ip");
  }
  return std::all_of(wide.per->begin(), wide.per->end(),
                     [&](const std::string& name) { return Guarantees(narrow, name); });
}

bool CoversTier(const Rule& wide, const Rule& narrow) {
  if (!wide.tier) return true;
  if (narrow.tier != wide.tier) return false;
  // With a condition on the key, a rule is also for calls whose tier is not known.
  return HasCondition(wide, "api_key") || !HasCondition(narrow, "api_key");
}

bool CoversRule(const Rule& wide, const Rule& narrow) {
  if (!CoversTier(wide, narrow) || !HasBudgetFor(wide, narrow)) return false;
  return std::all_of(wide.match.begin(), wide.match.end(), [&](const Condition& condition) {
    return std::any_of(narrow.match.begin(), narrow.match.end(),
                       [&](const Condition& other) { return Covers(condition, other); });
  });
}

std::string KeyOf(std::string_view attribute, char kind, std::string_view text) {
  std::string key(attribute);
  key += '\0';
  key += kind;
  key += text;
  return key;
}

std::string KeyOf(std::string_view attribute, const Network& network) {
  std::string text = std::to_string(network.base.high) + ' ' + std::to_string(network.base.low) +
                     ' ' + std::to_string(network.prefix);
  return KeyOf(attribute, 'n', text);
}

bool IsTrivial(const Condition& condition) {
  return condition.presence == Presence::kPresent ||
         std::any_of(condition.any_of.begin(), condition.any_of.end(), IsEverything);
}

std::string KeyOf(const Condition& condition, const Pattern& pattern) {
  switch (pattern.kind) {
    case PatternKind::kExact:
      return KeyOf(condition.attribute, 'e', pattern.text);
    case PatternKind::kGlob:
      return KeyOf(condition.attribute, 'g', pattern.text);
    case PatternKind::kRegex:
      return KeyOf(condition.attribute, 'r', pattern.text);
    case PatternKind::kCidr:
      break;
  }
  const auto network = ParseNetwork(pattern.text);
  return network ? KeyOf(condition.attribute, *network) : std::string();
}

/// Index of final rules by a property that covered rules must have.
class FinalRules {
 public:
  void Add(const ReadRule& rule) {
    const auto& match = rule.rule.match;
    const Condition* chosen = match.empty() ? nullptr : match.data();
    for (const Condition& condition : match) {
      if (!IsTrivial(condition) && condition.presence == Presence::kAny) chosen = &condition;
    }
    if (chosen == nullptr) {
      Put(rule.rule.tier ? KeyOf("tier", 'e', *rule.rule.tier) : std::string(), rule);
    } else if (chosen->presence == Presence::kAbsent) {
      Put(KeyOf(chosen->attribute, 'a', ""), rule);
    } else if (IsTrivial(*chosen)) {
      Put(KeyOf(chosen->attribute, 'p', ""), rule);
    } else if (chosen->any_of.size() <= kMaxIndexed) {
      for (const Pattern& pattern : chosen->any_of) Put(KeyOf(*chosen, pattern), rule);
    }
  }

  /// The first that covers the rule, or nullptr.
  const ReadRule* FindCovering(const Rule& rule) {
    found_ = nullptr;
    Look({}, rule);
    if (rule.tier) Look(KeyOf("tier", 'e', *rule.tier), rule);
    for (const Condition& condition : rule.match) {
      if (!NeedsAttribute(condition)) {
        Look(KeyOf(condition.attribute, 'a', ""), rule);
        continue;
      }
      Look(KeyOf(condition.attribute, 'p', ""), rule);
      // All patterns must be covered, so that the first finds whatever covers them.
      if (!condition.any_of.empty()) LookFor(condition, condition.any_of.front(), rule);
    }
    return found_;
  }

 private:
  void Put(const std::string& key, const ReadRule& rule) { by_key_[key].push_back(&rule); }

  void LookFor(const Condition& condition, const Pattern& pattern, const Rule& rule) {
    Look(KeyOf(condition, pattern), rule);
    if (pattern.kind == PatternKind::kCidr) {
      const auto network = ParseNetwork(pattern.text);
      if (!network) return;
      for (int prefix = network->v4 ? 96 : 0; prefix < network->prefix; ++prefix) {
        Look(KeyOf(condition.attribute, Network{Masked(network->base, prefix),
                                                static_cast<std::uint8_t>(prefix), network->v4}),
             rule);
      }
    } else if (pattern.kind != PatternKind::kRegex) {
      const std::string_view literal = pattern.kind == PatternKind::kGlob
                                           ? LiteralPrefix(pattern.text)
                                           : std::string_view(pattern.text);
      const std::size_t most = std::min(literal.size(), kMaxPrefix);
      for (std::size_t length = 1; length <= most; ++length) {
        Look(KeyOf(condition.attribute, 'g', std::string(literal.substr(0, length)) + '*'), rule);
      }
    }
  }

  void Look(const std::string& key, const Rule& rule) {
    const auto candidates = by_key_.find(key);
    if (found_ != nullptr || candidates == by_key_.end()) return;
    for (const ReadRule* candidate : candidates->second) {
      if (--comparisons_left_ < 0) return;
      if (!CoversRule(candidate->rule, rule)) continue;
      found_ = candidate;
      return;
    }
  }

  std::unordered_map<std::string, std::vector<const ReadRule*>> by_key_;
  const ReadRule* found_ = nullptr;
  int comparisons_left_ = kMaxComparisons;
};

// Returns whether the rule always applies to all callers that match it.
bool AlwaysApplies(const Rule& rule) {
  if (!rule.schedule.always() || (rule.rollout && !rule.rollout->has_from)) return false;
  return std::any_of(rule.variants.usual.begin(), rule.variants.usual.end(),
                     [](const NamedLimit& limit) { return limit.schedule.always(); });
}

}  // namespace

void CheckShadowed(config_text::Reading& reading, std::span<ReadRule* const> in_order) {
  FinalRules finals;
  bool any = false;
  for (const ReadRule* read : in_order) {
    const Rule& rule = read->rule;
    if (!rule.enabled || !read->complete) continue;
    const ReadRule* earlier = any ? finals.FindCovering(rule) : nullptr;
    if (earlier != nullptr) {
      reading.AddError(read->field, "can never match: the rule " +
                                        config_text::Shown(earlier->rule.id) + " on line " +
                                        std::to_string(earlier->field->position.line) +
                                        " comes first, is final, and matches all of its calls");
    } else if (rule.final && !rule.variants.usual.empty() && AlwaysApplies(rule)) {
      finals.Add(*read);
      any = true;
    }
  }
}

}  // namespace sluice::rules
