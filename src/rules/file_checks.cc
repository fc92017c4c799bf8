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

void CheckIds(Reading& reading, std::span<const ReadRule> rules) {
  std::unordered_map<std::string_view, int> lines;
  for (const ReadRule& rule : rules) {
    if (!rule.id || rule.rule.id.empty()) continue;
    const auto [first, is_new] = lines.emplace(rule.rule.id, rule.id->position.line);
    if (is_new) continue;
    reading.Wrong(rule.id, Shown(rule.rule.id) + " is the id of the rule on line " +
                               std::to_string(first->second) +
                               " already; rules with one id would share their budgets");
  }
}

}  // namespace

void CheckRules(Reading& reading, const RuleFile& file, std::span<const ReadRule> rules) {
  CheckIds(reading, rules);
  std::optional<PatternSet> known_keys;
  if (!file.known_keys.empty()) known_keys.emplace(file.known_keys);
  std::vector<const ReadRule*> in_order;
  in_order.reserve(rules.size());
  for (const ReadRule& rule : rules) {
    CheckOverrides(reading, rule, known_keys ? &*known_keys : nullptr);
    in_order.push_back(&rule);
  }
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const ReadRule* a, const ReadRule* b) { return a->order < b->order; });
  CheckShadowed(reading, in_order);
}

}  // namespace sluice::rules
