#include "comparison.h"

namespace sluice::app {

std::string DeniedBy(const Judgement& judgement) {
  switch (judgement.reason) {
    case Reason::kDenyList:
      return "the deny list";
    case Reason::kNoRule:
      return "default: deny";
    case Reason::kNotJudged:
      return "on_store_failure";
    case Reason::kCostRefused:
      return judgement.rule->id + " (cost)";
    case Reason::kLimits:
      return judgement.rule->id + " (" + judgement.limit->name + ")";
    case Reason::kAllowList:
      break;
  }
  return {};
}

void Comparison::Add(std::size_t line, const TraceRow& row, const Judgement& before,
                     const Judgement& after) {
  if (before.allowed == after.allowed) return;
  Changes& changes = after.allowed ? newly_allowed_ : newly_denied_;
  ++changes.calls;
  if (changes.examples.size() >= examples_) return;
  ChangedCall& call = changes.examples.emplace_back();
  call.line = line;
  call.time = row.time;
  for (const auto& [name, value] : row.attributes) call.attributes.emplace_back(name, value);
  call.denied_by = DeniedBy(after.allowed ? before : after);
}

}  // namespace sluice::app
