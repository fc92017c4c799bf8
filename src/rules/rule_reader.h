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
  std::optional<Penalty> penalty;
  AttributeNames attributes;
};

/// A rule with data that is only needed while reading.
struct ReadRule {
  Rule rule;
  std::int64_t order = 0;
  config_text::Field field;
  config_text::Field id;                            ///< Field of its id; not set if absent.
  std::vector<config_text::Field> tier_names;       ///< Fields of its tiers.
  std::vector<config_text::Field> per_fields;       ///< Fields of the attributes in `per`.
  std::vector<config_text::Field> override_fields;  ///< One for each override, in the same order.
  bool complete = false;                            ///< It has no errors.
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
