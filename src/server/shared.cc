#include "server/shared.h"

#include <utility>

namespace sluice::server {
namespace {

void Number(const rules::Rule& rule, rules::Variants& variants, telemetry::RuleIds& ids) {
  const auto number = [&](rules::Limits& limits) {
    for (rules::NamedLimit& limit : limits) {
      limit.number = ids.Intern(rule.id, limit.limit.algorithm()).index;
    }
  };
  number(variants.usual);
  for (auto& [tier, limits] : variants.by_tier) number(limits);
}

// So that a call on its way finds the counter of a limit by an index.
void NumberLimits(rules::Rule& rule, telemetry::RuleIds& ids) {
  Number(rule, rule.variants, ids);
  for (rules::Override& other : rule.overrides) Number(rule, other.variants, ids);
}

constexpr std::size_t kVersionsKept = 10;

}  // namespace

Shared::Shared(Config its_config, const telemetry::LogOptions& log_options)
    : config(std::move(its_config)),
      log(log_options),
      rules(kVersionsKept,
            [this](rules::RuleFile& file) {
              for (rules::Rule& rule : file.rules) NumberLimits(rule, rule_ids);
            }),
      envoy({.merge_domains = config.envoy_merge_domains,
             .prepare = [this](rules::Rule& rule) { NumberLimits(rule, rule_ids); }}) {}

}  // namespace sluice::server
