#include "telemetry/metrics_snapshot.h"

#include <utility>

namespace sluice::telemetry {

void ReadLoops(const RuleIds& ids, std::span<const LoopCounters* const> loops,
               MetricsSnapshot& snapshot) {
  for (const LoopCounters* loop : loops) loop->AddTo(snapshot.loops);

  using Column = RuleCounters::Column;
  std::vector<RuleIds::Name> names = ids.Names();
  snapshot.requests.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    RuleTotals totals{.rule = std::move(names[i].rule), .algorithm = names[i].algorithm};
    const RuleSeries series{static_cast<std::uint32_t>(i)};
    for (const LoopCounters* loop : loops) {
      totals.requests[Allowed::kNo] += loop->rules().value(series, Column::kDenied);
      totals.requests[Allowed::kYes] += loop->rules().value(series, Column::kAllowed);
      totals.shadow_denials += loop->rules().value(series, Column::kShadowDenied);
    }
    // Where the numbers never ran out, "_other" would only puzzle.
    const bool untouched_other = totals.rule == RuleIds::kOther &&
                                 totals.requests[Allowed::kNo] == 0 &&
                                 totals.requests[Allowed::kYes] == 0;
    if (!untouched_other) snapshot.requests.push_back(std::move(totals));
  }
}

}  // namespace sluice::telemetry
