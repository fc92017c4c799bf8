#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "match/attributes.h"
#include "match/compiled_rule.h"
#include "match/condition.h"
#include "match/match_input.h"
#include "match/rule_set.h"
#include "rules/endpoint_templates.h"

namespace sluice::bench {

/// What one would write first: every rule is asked in its turn whether the call meets it. To be
/// fair, conditions are prepared just as in a rule set, cheap ones are asked first, and nothing is
/// allocated; there are no lists to look at.
class PlainLoop {
 public:
  /// The rules, of which only the file and its prices are used, must outlive this.
  explicit PlainLoop(const match::RuleSet& rules);

  /// How many limits the call meets.
  std::size_t Find(match::Attributes attributes, std::int64_t cost);

 private:
  const match::RuleSet& set_;
  match::Slots slots_;
  std::vector<match::CompiledRule> rules_;
  rules::EndpointTemplates templates_;
  match::MatchInput call_;
  std::string text_;
};

}  // namespace sluice::bench
