#pragma once

#include <vector>

#include "rules/mapping.h"

/// Which fields each part of a rule file may have. docs/rules.schema.json repeats them, and
/// docs/rules.md explains them.
namespace sluice::rules {

const FieldNames& FileFields();
const FieldNames& DefaultsFields();
const FieldNames& TierFields();
const FieldNames& RuleFields();
const FieldNames& OverrideFields();
/// A limit in the `limits` of a rule.
const FieldNames& LimitFields();
/// A limit in the `limits` of another level; `params` and `emergency_limit` have the same.
const FieldNames& NumbersFields();
const FieldNames& CostFields();
/// What an attribute must be like, written as a mapping.
const FieldNames& DenialFields();
const FieldNames& ConditionFields();
/// An item of `keys`, written as a list.
const FieldNames& KeyFields();

/// By the name that the schema has for them.
std::vector<std::pair<std::string_view, const FieldNames*>> AllFieldNames();

}  // namespace sluice::rules
