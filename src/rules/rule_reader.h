#pragma once

#include <cstdint>
#include <optional>

#include "config_text/reading.h"
#include "rules/attribute_names.h"
#include "rules/model.h"
#include "rules/rule_limits.h"

namespace sluice::rules {

/// Defaults of the rules of a file.
struct RuleDefaults {
  FileLevels levels;
  std::optional<Consistency> consistency;
  std::optional<bool> headers;
  std::optional<OnStoreFailure> on_store_failure;
  std::optional<WhenFull> when_full;
  std::optional<Limit> emergency;
  std::optional<Denial> denial;
  AttributeNames attributes;
};

/// A rule with what only the reading needs to know of it.
struct ReadRule {
  Rule rule;
  std::int64_t order = 0;
  config_text::Field field;
  config_text::Field id;                       ///< Where its id stands; not set if it has none.
  std::vector<config_text::Field> tier_names;  ///< Where it names tiers.
  std::vector<config_text::Field>
      per_fields;  ///< Where it names the attributes that its budget is per.
  std::vector<config_text::Field> override_fields;  ///< One for each override, in the same order.
  bool complete = false;                            ///< Nothing is wrong with it.
};

/// Reads a rule; both top-level forms have the same fields.
ReadRule ReadOneRule(config_text::Reading& reading, const config_text::Field& field,
                     const RuleDefaults& defaults);

std::optional<Consistency> ReadConsistency(config_text::Reading& reading,
                                           const config_text::Field& field);
std::optional<OnStoreFailure> ReadOnStoreFailure(config_text::Reading& reading,
                                                 const config_text::Field& field);
std::optional<WhenFull> ReadWhenFull(config_text::Reading& reading,
                                     const config_text::Field& field);

}  // namespace sluice::rules
