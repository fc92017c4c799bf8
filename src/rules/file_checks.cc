#include "rules/file_checks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config_text/suggestion.h"
#include "rules/override_checks.h"
#include "rules/pattern_cover.h"
#include "rules/shadow_checks.h"

namespace sluice::rules {
namespace {

void CheckIds(config_text::Reading& reading, std::span<ReadRule* const> in_order) {
  std::unordered_map<std::string_view, int> lines;
  std::vector<const ReadRule*> in_file(in_order.begin(), in_order.end());
  std::sort(in_file.begin(), in_file.end());
  for (const ReadRule* read : in_file) {
    const ReadRule& rule = *read;
    if (!rule.id || rule.rule.id.empty()) continue;
    const auto [first, is_new] = lines.emplace(rule.rule.id, rule.id->position.line);
    if (is_new) continue;
    reading.AddError(rule.id, config_text::Shown(rule.rule.id) + " is the id of the rule on line " +
                                  std::to_string(first->second) +
                                  " already; rules with one id would share their budgets");
  }
}

std::size_t MostLimits(const LimitVariants& variants) {
  const auto count = [](const Limits& limits) {
    return static_cast<std::size_t>(
        std::count_if(limits.begin(), limits.end(),
                      [](const NamedLimit& limit) { return limit.schedule.always(); }));
  };
  std::size_t most = count(variants.usual);
  for (const auto& [tier, limits] : variants.by_tier) most = std::max(most, count(limits));
  return most;
}

// Rules without conditions all match one call, unless they have a schedule. Which rules with
// conditions match is unknown here.
void CheckCount(config_text::Reading& reading, std::span<ReadRule* const> in_order) {
  std::size_t limits = 0;
  for (const ReadRule* read : in_order) {
    const Rule& rule = read->rule;
    if (!rule.enabled || !rule.match.empty() || rule.tier || rule.rollout) continue;
    if (!rule.schedule.always()) continue;
    limits += MostLimits(rule.variants);
    if (limits > kMaxLimitsPerCall) {
      reading.AddError(read->id, "with the rules before it, a call matches " +
                                     std::to_string(limits) + " limits; at most " +
                                     std::to_string(kMaxLimitsPerCall) + " can match a call");
      return;
    }
    if (rule.final && MostLimits(rule.variants) > 0) return;
  }
}

}  // namespace

std::vector<ReadRule*> InOrder(std::vector<ReadRule>& rules) {
  std::vector<ReadRule*> in_order;
  in_order.reserve(rules.size());
  for (ReadRule& rule : rules) in_order.push_back(&rule);
  // They lie in the order of the file.
  std::sort(in_order.begin(), in_order.end(), [](const ReadRule* a, const ReadRule* b) {
    return a->order != b->order ? a->order < b->order : a < b;
  });
  return in_order;
}

void CheckRules(config_text::Reading& reading, const RuleFile& file,
                std::span<ReadRule* const> in_order) {
  CheckIds(reading, in_order);
  CheckCount(reading, in_order);
  std::optional<PatternSet> known_keys;
  if (!file.known_keys.empty()) known_keys.emplace(file.known_keys);
  for (const ReadRule* rule : in_order) {
    CheckOverrides(reading, *rule, known_keys ? &*known_keys : nullptr);
  }
  CheckShadowed(reading, in_order);
}

}  // namespace sluice::rules
