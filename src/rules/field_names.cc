#include "rules/field_names.h"

#include "rules/limit_level.h"

namespace sluice::rules {

const FieldNames& FileFields() {
  static const FieldNames names(
      "a rule file", {{"rules", "rate_limits", "defaults", "tiers", "default_tier", "keys",
                       "known_keys", "allow", "deny", "whitelist", "blacklist", "endpoints",
                       "default", "on_store_failure", "emergency_limit"}});
  return names;
}

const FieldNames& DefaultsFields() {
  static const FieldNames names("`defaults`", {QuantityFields(),
                                               {"limits", "consistency", "headers", "denial",
                                                "on_store_failure", "emergency_limit"}});
  return names;
}

const FieldNames& TierFields() {
  static const FieldNames names("a tier", {QuantityFields(), {"limits"}});
  return names;
}

const FieldNames& RuleFields() {
  static const FieldNames names(
      "a rule", {{"id",     "name",        "version",  "description",      "enabled",
                  "order",  "final",       "shadow",   "headers",          "tier",
                  "match",  "per",         "scope",    "attributes",       "hash_tag",
                  "params", "limits",      "override", "overrides",        "type",
                  "cost",   "consistency", "priority", "on_store_failure", "emergency_limit",
                  "denial"},
                 QuantityFields()});
  return names;
}

const FieldNames& OverrideFields() {
  static const FieldNames names("an override", {QuantityFields(), {"limits"}});
  return names;
}

const FieldNames& LimitFields() {
  static const FieldNames names("a limit", {{"name", "type", "cost"}, QuantityFields()});
  return names;
}

const FieldNames& NumbersFields() {
  static const FieldNames names("a limit", {QuantityFields()});
  return names;
}

const FieldNames& CostFields() {
  static const FieldNames names("`cost`", {{"attribute", "min", "max"}});
  return names;
}

const FieldNames& DenialFields() {
  static const FieldNames names("`denial`", {{"status", "body", "content_type", "headers"}});
  return names;
}

const FieldNames& ConditionFields() {
  static const FieldNames names("a condition",
                                {{"exact", "glob", "in", "regex", "present", "absent"}});
  return names;
}

const FieldNames& KeyFields() {
  static const FieldNames names("an item of `keys`", {{"key", "tier"}});
  return names;
}

std::vector<std::pair<std::string_view, const FieldNames*>> AllFieldNames() {
  return {{"file", &FileFields()},
          {"defaults", &DefaultsFields()},
          {"tier", &TierFields()},
          {"rule", &RuleFields()},
          {"override", &OverrideFields()},
          {"limit", &LimitFields()},
          {"numbers", &NumbersFields()},
          {"cost", &CostFields()},
          {"denial", &DenialFields()},
          {"condition", &ConditionFields()},
          {"key", &KeyFields()}};
}

}  // namespace sluice::rules
