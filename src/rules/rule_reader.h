#pragma once

#include <cstdint>
#include <optional>

#include "rules/model.h"
#include "rules/reading.h"
#include "rules/rule_limits.h"

namespace sluice::rules {

/// What holds for the rules of a file that do not say otherwise.
struct RuleDefaults {
  FileLevels levels;
  std::optional<Consistency> consistency;
  std::optional<bool> headers;
  std::optional<OnStoreFailure> on_store_failure;
  std::optional<Limit> emergency;
  std::optional<Denial> denial;
};

/// A rule with what only the reading needs to know of it.
struct ReadRule {
  Rule rule;
  std::int64_t order = 0;
  Field field;
  Field id;                            ///< Where its id stands; not set if it has none.
  std::vector<Field> tier_names;       ///< Where it names tiers.
  std::vector<Field> override_fields;  ///< One for each override, in the same order.
  bool complete = false;               ///< Nothing is wrong with it.
};

/// Reads a rule; both top-level forms have the same fields.
ReadRule ReadOneRule(Reading& reading, const Field& field, const RuleDefaults& defaults);

std::optional<Consistency> ReadConsistency(Reading& reading, const Field& field);
std::optional<OnStoreFailure> ReadOnStoreFailure(Reading& reading, const Field& field);

}  // namespace sluice::rules
