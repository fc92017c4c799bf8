#include "rules/field_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "config_text/suggestion.h"
#include "rules/limit_level.h"

namespace sluice::rules {
namespace {

using config_text::FieldNames;

constexpr std::string_view kDocument = "docs/rules.md";

// Names of other systems, and the fields that are probably meant.
constexpr std::array<std::pair<std::string_view, std::string_view>, 29> kFieldSynonyms = {{
    {"rate", "limit"},
    {"requests", "limit"},
    {"quota", "limit"},
    {"max", "limit"},
    {"max_requests", "limit"},
    {"rps", "limit"},
    {"burst", "burst_allowance"},
    {"bucket_size", "capacity"},
    {"size", "capacity"},
    {"period", "window"},
    {"duration", "window"},
    {"interval", "window"},
    {"unit", "window"},
    {"fill_rate", "refill_rate"},
    {"key", "per"},
    {"by", "per"},
    {"dry_run", "shadow"},
    {"disabled", "enabled"},
    {"kind", "type"},
    {"pattern", "key"},
    {"minimum", "min"},
    {"maximum", "max"},
    {"start", "starts_at"},
    {"begins_at", "starts_at"},
    {"valid_from", "starts_at"},
    {"ends_at", "expires_at"},
    {"valid_until", "expires_at"},
    {"canary", "rollout"},
    {"percentage", "percent"},
}};

bool IsCondition(std::string_view name) {
  for (const std::string_view known : {"api_key", "endpoint", "method", "methods", "ip", "path"}) {
    if (name == known) return true;
  }
  return name.ends_with("_pattern") || name.ends_with("_regex");
}

// Hints at the field that was meant, or at the place where this one belongs.
std::string RuleFileHint(const FieldNames& names, std::string_view field) {
  const auto* const synonym = std::find_if(kFieldSynonyms.begin(), kFieldSynonyms.end(),
                                           [&](const auto& words) { return words.first == field; });
  if (synonym != kFieldSynonyms.end() && names.Has(synonym->second)) {
    return "; did you mean " + config_text::Shown(synonym->second) + "?";
  }
  if (names.Has("match") && IsCondition(field)) return "; conditions stand under `match`";
  std::string suggestion = config_text::DidYouMean(field, names.all());
  if (!suggestion.empty()) return suggestion;
  if (!RuleFields().Has(field)) return {};
  return "; it belongs to a rule, not to " + std::string(names.what());
}

FieldNames NamesOf(std::string_view what,
                   std::initializer_list<std::vector<std::string_view>> names) {
  return {what, names, kDocument, RuleFileHint};
}

}  // namespace

const FieldNames& FileFields() {
  static const FieldNames names = NamesOf(
      "a rule file",
      {{"rules", "rate_limits", "defaults", "tiers", "default_tier", "keys", "known_keys", "allow",
        "deny", "whitelist", "blacklist", "endpoints", "default", "on_store_failure",
        "emergency_limit", "when_full", "attributes", "quantities", "models"}});
  return names;
}

const FieldNames& DefaultsFields() {
  static const FieldNames names =
      NamesOf("`defaults`", {QuantityFields(),
                             {"limits", "consistency", "headers", "denial", "penalty",
                              "on_store_failure", "emergency_limit", "when_full"}});
  return names;
}

const FieldNames& TierFields() {
  static const FieldNames names = NamesOf("a tier", {QuantityFields(), {"limits"}});
  return names;
}

const FieldNames& RuleFields() {
  static const FieldNames names = NamesOf(
      "a rule", {{"id",      "name",        "version",   "description",      "enabled",
                  "order",   "final",       "shadow",    "headers",          "tier",
                  "match",   "per",         "scope",     "attributes",       "hash_tag",
                  "params",  "limits",      "override",  "overrides",        "type",
                  "cost",    "consistency", "priority",  "on_store_failure", "emergency_limit",
                  "denial",  "on_missing",  "when_full", "starts_at",        "expires_at",
                  "rollout", "count",       "penalty"},
                 QuantityFields()});
  return names;
}

const FieldNames& OverrideFields() {
  static const FieldNames names = NamesOf("an override", {QuantityFields(), {"limits"}});
  return names;
}

const FieldNames& LimitFields() {
  static const FieldNames names = NamesOf(
      "a limit",
      {{"name", "type", "cost", "count", "shadow", "starts_at", "expires_at"}, QuantityFields()});
  return names;
}

const FieldNames& NumbersFields() {
  static const FieldNames names = NamesOf("a limit", {QuantityFields()});
  return names;
}

const FieldNames& RolloutFields() {
  static const FieldNames names = NamesOf("`rollout`", {{"percent", "by", "from"}});
  return names;
}

const FieldNames& FromFields() {
  static const FieldNames names = NamesOf("`from`", {QuantityFields(), {"limits"}});
  return names;
}

const FieldNames& CostFields() {
  static const FieldNames names = NamesOf("`cost`", {{"attribute", "min", "max"}});
  return names;
}

const FieldNames& DenialFields() {
  static const FieldNames names =
      NamesOf("`denial`", {{"status", "body", "content_type", "headers"}});
  return names;
}

const FieldNames& PenaltyFields() {
  static const FieldNames names = NamesOf(
      "`penalty`", {{"after", "steps", "jitter", "forget", "scope", "action", "status", "shadow"}});
  return names;
}

const FieldNames& PenaltyAfterFields() {
  static const FieldNames names = NamesOf("`after`", {{"denials", "ignored_backoff", "within"}});
  return names;
}

const FieldNames& PenaltyActionFields() {
  static const FieldNames names = NamesOf("`action`", {{"multiply"}});
  return names;
}

const FieldNames& ConditionFields() {
  static const FieldNames names =
      NamesOf("a condition", {{"exact", "glob", "in", "regex", "present", "absent"}});
  return names;
}

const FieldNames& KeyFields() {
  static const FieldNames names = NamesOf("an item of `keys`", {{"key", "tier"}});
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
          {"rollout", &RolloutFields()},
          {"from", &FromFields()},
          {"cost", &CostFields()},
          {"denial", &DenialFields()},
          {"penalty", &PenaltyFields()},
          {"penalty_after", &PenaltyAfterFields()},
          {"penalty_action", &PenaltyActionFields()},
          {"condition", &ConditionFields()},
          {"key", &KeyFields()}};
}

}  // namespace sluice::rules
