#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rules/attributes.h"
#include "rules/call.h"
#include "rules/compiled_rule.h"
#include "rules/condition.h"
#include "rules/endpoint_templates.h"
#include "rules/model.h"

namespace sluice::bench {

/// What one would write first: every rule is asked in its turn whether the call meets it. To be
/// fair, conditions are prepared just as in a rule set, cheap ones are asked first, and nothing is
/// allocated; there are no lists to look at.
class PlainLoop {
 public:
  /// The file must outlive this.
  explicit PlainLoop(const rules::RuleFile& file);

  /// How many limits the call meets.
  std::size_t Find(rules::Attributes attributes, std::int64_t cost);

 private:
  const rules::RuleFile& file_;
  rules::Slots slots_;
  std::vector<rules::CompiledRule> rules_;
  rules::EndpointTemplates templates_;
  rules::Call call_;
  std::string text_;
};

}  // namespace sluice::bench
