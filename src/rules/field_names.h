#pragma once

#include <vector>

#include "config_text/mapping.h"

/// Allowed fields of each part of a rule file. docs/rules.schema.json repeats them, and
/// docs/rules.md explains them.
namespace sluice::rules {

const config_text::FieldNames& FileFields();
const config_text::FieldNames& DefaultsFields();
const config_text::FieldNames& TierFields();
const config_text::FieldNames& RuleFields();
const config_text::FieldNames& OverrideFields();
/// A limit in the `limits` of a rule.
const config_text::FieldNames& LimitFields();
/// A limit in the `limits` of another level; `params` and `emergency_limit` have the same.
const config_text::FieldNames& NumbersFields();
const config_text::FieldNames& RolloutFields();
/// The numbers of callers outside of a rollout.
const config_text::FieldNames& FromFields();
const config_text::FieldNames& CostFields();
/// A condition on an attribute, written as a mapping.
const config_text::FieldNames& DenialFields();
const config_text::FieldNames& PenaltyFields();
const config_text::FieldNames& PenaltyAfterFields();
const config_text::FieldNames& PenaltyActionFields();
const config_text::FieldNames& ConditionFields();
/// An item of `keys`, written as a list.
const config_text::FieldNames& KeyFields();

/// Returns all of the above by their names in the schema.
std::vector<std::pair<std::string_view, const config_text::FieldNames*>> AllFieldNames();

}  // namespace sluice::rules
