#include "match/rule_demands.h"

#include <algorithm>
#include <utility>

#include "match/pattern_table.h"
#include "match/regex_literals.h"
#include "rules/glob.h"

namespace sluice::match {
namespace {

bool AllAre(const rules::Condition& condition, rules::PatternKind kind) {
  return std::all_of(condition.any_of.begin(), condition.any_of.end(),
                     [kind](const rules::Pattern& pattern) { return pattern.kind == kind; });
}

std::optional<ValueDemand> ValuesOf(const rules::Condition& condition, Slot slot) {
  if (!AllAre(condition, rules::PatternKind::kExact)) return std::nullopt;
  ValueDemand demand{.slot = slot, .values = {}, .ignore_case = condition.ignore_case};
  for (const rules::Pattern& pattern : condition.any_of) {
    demand.values.push_back(slot == kIpSlot ? CanonicalAddressText(pattern.text) : pattern.text);
  }
  return demand;
}

// The lists of literals of a pattern, those left out that have one that the index can't hold.
TextDemand::Choices ChoicesOf(const rules::Pattern& pattern, Slot slot) {
  TextDemand::Choices choices;
  if (pattern.kind == rules::PatternKind::kExact) {
    choices.push_back(
        {{slot == kIpSlot ? CanonicalAddressText(pattern.text) : pattern.text, true, true}});
  } else if (pattern.kind == rules::PatternKind::kGlob) {
    const rules::Glob glob = rules::Glob::Compile(pattern.text).value();
    for (const auto& [text, at_begin, at_end] : glob.Literals()) {
      choices.push_back({{std::string(text), at_begin, at_end}});
    }
  } else if (pattern.kind == rules::PatternKind::kRegex) {
    choices = ShapeOf(pattern.text).one_of_each;
  }
  std::erase_if(choices, [](const std::vector<Literal>& literals) {
    return !std::all_of(literals.begin(), literals.end(), LiteralIndex::CanHold);
  });
  return choices;
}

std::optional<TextDemand> TextsOf(const rules::Condition& condition, Slot slot) {
  if (condition.ignore_case) return std::nullopt;
  TextDemand demand{.slot = slot, .patterns = {}};
  for (const rules::Pattern& pattern : condition.any_of) {
    TextDemand::Choices choices = ChoicesOf(pattern, slot);
    if (choices.empty()) return std::nullopt;
    demand.patterns.push_back(std::move(choices));
  }
  return demand;
}

std::optional<NetworkDemand> NetworksOf(const rules::Condition& condition, Slot slot) {
  if (slot != kIpSlot || !AllAre(condition, rules::PatternKind::kCidr)) return std::nullopt;
  NetworkDemand demand;
  for (const rules::Pattern& pattern : condition.any_of) {
    demand.networks.push_back(ParseNetwork(pattern.text).value());
  }
  return demand;
}

}  // namespace

bool HasKeyPattern(const rules::Rule& rule) {
  return std::any_of(rule.match.begin(), rule.match.end(), [](const rules::Condition& condition) {
    return condition.attribute == "api_key" && !condition.any_of.empty();
  });
}

RuleDemands DemandsOf(const rules::Rule& rule, const Slots& slots) {
  RuleDemands demands;
  // With a key pattern, calls of no known tier match too.
  if (rule.tier && !HasKeyPattern(rule)) {
    demands.values.push_back({.slot = kTierSlot, .values = {*rule.tier}, .ignore_case = false});
  }
  for (const rules::Condition& condition : rule.match) {
    if (condition.presence != rules::Presence::kAny || condition.any_of.empty()) continue;
    const Slot slot = slots.Find(condition.attribute);
    if (auto values = ValuesOf(condition, slot)) {
      // Two conditions on one attribute: the index needs only one of them.
      const bool known = std::any_of(demands.values.begin(), demands.values.end(),
                                     [&](const ValueDemand& each) { return each.slot == slot; });
      if (!known) demands.values.push_back(*std::move(values));
    } else if (auto texts = TextsOf(condition, slot)) {
      demands.texts.push_back(*std::move(texts));
    } else if (auto networks = NetworksOf(condition, slot)) {
      demands.networks.push_back(*std::move(networks));
    }
  }
  return demands;
}

}  // namespace sluice::match
