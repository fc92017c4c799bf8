#include "server/shared.h"

#include "match/cohort.h"
#include "rules/endpoint_case.h"

namespace sluice::server {

using telemetry::SeriesIds;

std::vector<SeriesIds::Values> Shared::SharedLimitSeries() {
  std::vector<SeriesIds::Values> all;
  for (const std::string_view algorithm : kLabels<Algorithm>) {
    const std::string other(SeriesIds::kOther);
    all.push_back({other, other, std::string(algorithm), std::string()});
  }
  return all;
}

telemetry::Series Shared::LimitSeriesOf(std::string_view rule, std::string_view limit,
                                        Algorithm algorithm, std::string_view cohort) {
  return limit_series.Intern(
      {std::string(rule), std::string(limit), std::string(LabelOf(algorithm)), std::string(cohort)},
      {static_cast<std::uint32_t>(algorithm)});
}

void Shared::NumberLimits(rules::Rule& rule) {
  const auto number = [&](rules::LimitVariants& variants, match::Cohort cohort) {
    const std::string_view label = rule.rollout ? NameOf(cohort) : std::string_view();
    const auto number_all = [&](rules::Limits& limits) {
      for (rules::NamedLimit& limit : limits) {
        limit.number = LimitSeriesOf(rule.id, limit.name, limit.limit.algorithm(), label).index;
      }
    };
    number_all(variants.usual);
    for (auto& [tier, limits] : variants.by_tier) number_all(limits);
  };
  rule.number = rule_series.Intern({rule.id}).index;
  number(rule.variants, match::Cohort::kNew);
  if (rule.rollout) number(rule.rollout->from, match::Cohort::kOld);
  for (rules::Override& other : rule.overrides) {
    number(other.variants, match::Cohort::kNew);
    number(other.from, match::Cohort::kOld);
  }
}

void Shared::AddRuleWarnings(LoadReport& report) const {
  if (report.outcome != LoadOutcome::kActivated || !config.forward_auth.fold_paths.letter_case) {
    return;
  }
  const LiveVersion<match::RuleSet> active = rules.Active();
  for (const auto& warning : rules::WarnOfUpperCaseEndpoints(active.source, active.value->file())) {
    report.warnings.push_back(Describe(warning));
  }
}

}  // namespace sluice::server
