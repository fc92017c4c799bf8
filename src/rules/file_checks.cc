#include "rules/file_checks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/override_checks.h"
#include "rules/pattern_cover.h"
#include "rules/shadow_checks.h"
#include "rules/suggestion.h"

namespace sluice::rules {
namespace {

void CheckIds(Reading& reading, std::span<ReadRule* const> in_order) {
  std::unordered_map<std::string_view, int> lines;
  std::vector<const ReadRule*> in_file(in_order.begin(), in_order.end());
  std::sort(in_file.begin(), in_file.end());
  for (const ReadRule* read : in_file) {
    const ReadRule& rule = *read;
    if (!rule.id || rule.rule.id.empty()) continue;
    const auto [first, is_new] = lines.emplace(rule.rule.id, rule.id->position.line);
    if (is_new) continue;
    reading.Wrong(rule.id, Shown(rule.rule.id) + " is the id of the rule on line " +
                               std::to_string(first->second) +
                               " already; rules with one id would share their budgets");
  }
}

std::size_t MostLimits(const Variants& variants) {
  std::size_t most = variants.usual.size();
  for (const auto& [tier, limits] : variants.by_tier) most = std::max(most, limits.size());
  return most;
}

// Rules without conditions can all be met by one call. What conditions let meet is not known here.
void CheckCount(Reading& reading, std::span<ReadRule* const> in_order) {
  std::size_t limits = 0;
  for (const ReadRule* read : in_order) {
    const Rule& rule = read->rule;
    if (!rule.enabled || !rule.match.empty() || rule.tier) continue;
    limits += MostLimits(rule.variants);
    if (limits > kMaxLimitsPerCall) {
      reading.Wrong(read->id, "with the rules before it, a call meets " + std::to_string(limits) +
                                  " limits; at most " + std::to_string(kMaxLimitsPerCall) +
                                  " can be met by a call");
      return;
    }
    if (rule.final) return;
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

void CheckRules(Reading& reading, const RuleFile& file, std::span<ReadRule* const> in_order) {
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
