#include "simulate/comparison.h"

namespace sluice::simulate {

std::string DeniedBy(const SimulatedDecision& decision) {
  switch (decision.reason) {
    case Reason::kDenyList:
      return "the deny list";
    case Reason::kNoRule:
      return "default: deny";
    case Reason::kNotEvaluated:
      return "when_full or on_store_failure";
    case Reason::kCostRefused:
      return decision.rule->id + " (cost)";
    case Reason::kLimits:
      return decision.rule->id + " (" + decision.limit->name + ")";
    case Reason::kBlockEntry:
      return "a live entry";
    case Reason::kAllowList:
    case Reason::kAllowEntry:
      break;
  }
  return {};
}

void Comparison::Add(std::size_t line, const TraceRow& row, const SimulatedDecision& before,
                     const SimulatedDecision& after) {
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

}  // namespace sluice::simulate
