#include "rules/rejects_all.h"

#include <algorithm>
#include <string_view>

#include "base/network.h"

namespace sluice::rules {
namespace {

bool RejectsEverything(const Limits& limits, WallTime now) {
  return std::any_of(limits.begin(), limits.end(), [&](const NamedLimit& limit) {
    return limit.reject_all && !limit.shadow && now < limit.schedule.expires_at;
  });
}

bool RejectsEverything(const LimitVariants& variants, WallTime now) {
  if (!variants.usual.empty() && !RejectsEverything(variants.usual, now)) return false;
  return std::all_of(variants.by_tier.begin(), variants.by_tier.end(),
                     [&](const auto& tier) { return RejectsEverything(tier.second, now); });
}

// Whether every call that matches the rule is denied by it.
bool RejectsItsCalls(const Rule& rule, WallTime now) {
  const bool has_from = rule.rollout && rule.rollout->has_from;
  const auto rejects = [&](const LimitVariants& variants) {
    return RejectsEverything(variants, now);
  };
  if (rule.shadow || !rejects(rule.variants)) return false;
  if (has_from && !rejects(rule.rollout->from)) return false;
  return std::all_of(rule.overrides.begin(), rule.overrides.end(), [&](const Override& each) {
    return rejects(each.variants) && (!has_from || rejects(each.from));
  });
}

// Whether every call of a caller with an address matches the rule, or is denied for lacking an
// attribute.
bool MatchesAllCalls(const Rule& rule) {
  if (!rule.match.empty() || rule.tier || rule.variants.usual.empty()) return false;
  if (rule.rollout && !rule.rollout->has_from) return false;
  if (!rule.per || rule.on_missing.value_or(OnMissing::kSkip) != OnMissing::kSkip) return true;
  return std::all_of(rule.per->begin(), rule.per->end(),
                     [](std::string_view attribute) { return attribute == "ip"; });
}

bool DeniesAllAddresses(const RuleFile& file) {
  bool v4 = false;
  bool v6 = false;
  for (const Pattern& pattern : file.deny) {
    if (pattern.kind != PatternKind::kCidr) continue;
    const auto network = ParseNetwork(pattern.text);
    if (!network) continue;
    v4 = v4 || (network->v4 && network->prefix == 96);
    v6 = v6 || (!network->v4 && network->prefix == 0);
  }
  return v4 && v6;
}

}  // namespace

std::optional<std::string> FindRejectAll(const RuleFile& file, WallTime now) {
  if (DeniesAllAddresses(file)) return "`deny` contains every address";
  if (!file.allow.empty()) return std::nullopt;
  bool admits = false;
  for (const Rule& rule : file.rules) {
    if (!rule.enabled || now >= rule.schedule.expires_at) continue;
    if (!RejectsItsCalls(rule, now)) {
      admits = true;
      // Its calls may pass, and no later rule is evaluated for them.
      if (rule.final) return std::nullopt;
    } else if (MatchesAllCalls(rule)) {
      return "the rule `" + rule.id + "` matches every call and rejects it";
    }
  }
  if (file.otherwise == DefaultAction::kDeny && !admits) {
    return "`default` is `deny`, and no enabled rule admits a call";
  }
  return std::nullopt;
}

}  // namespace sluice::rules
