#include "explain_command.h"

#include <algorithm>
#include <cstdio>

#include "base/key.h"
#include "limit_text.h"
#include "load_rules.h"
#include "text_table.h"

namespace sluice::app {
namespace {

using Align = TextTable::Align;
using rules::Explanation;

std::string At(const rules::Position& position) {
  return position.line > 0 ? "line " + std::to_string(position.line) : std::string();
}

std::string TierText(const Explanation& explanation) {
  const std::string tier = Shown(explanation.tier);
  switch (explanation.tier_source) {
    case rules::TierSource::kNone:
      break;
    case rules::TierSource::kAttribute:
      return tier + ", from the attribute `tier`";
    case rules::TierSource::kKeys:
      return tier + ", from `keys`: " + Shown(explanation.tier_key->key.text);
    case rules::TierSource::kDefault:
      return tier + ", the default";
  }
  return "not known";
}

std::string ListText(const Explanation& explanation) {
  if (explanation.listed == rules::Listed::kNo) return "on none";
  const char* const name =
      explanation.listed == rules::Listed::kDenied ? "on the deny list: " : "on the allow list: ";
  return name + Shown(explanation.list_entry->text) + " (" + At(explanation.list_entry->position) +
         ")";
}

void PrintCall(const Explanation& explanation, const ExplainOptions& options, std::string& out) {
  TextTable table({Align::kLeft, Align::kLeft});
  for (const auto& [name, value] : options.attributes) table.Add({Shown(name), Shown(value)});
  if (!explanation.endpoint_template.empty()) {
    table.Add({"endpoint as", Shown(explanation.endpoint_template)});
  }
  table.Add({"cost", std::to_string(options.cost)});
  table.Add({"tier", TierText(explanation)});
  table.Add({"lists", ListText(explanation)});
  if (explanation.key_unknown) table.Add({"api_key", "not among `known_keys`: counts as absent"});
  out += "call\n";
  table.Print(2, out);
}

void PrintLimit(const rules::ExplainedLimit& explained, std::string& out) {
  const rules::NamedLimit& limit = *explained.limit;
  out += "  limit " + Shown(limit.name) + ": ";
  out += limit.reject_all ? "rejects every call" : LimitText(limit.limit.numbers());
  if (!limit.reject_all) out += " (" + std::string(AlgorithmName(limit.limit.algorithm())) + ")";
  out += '\n';
  TextTable about({Align::kLeft, Align::kLeft});
  about.Add({"counts", Shown(limit.type)});
  about.Add({"key", Shown(KeyName(explained))});
  about.Add({"cost", explained.refusal.empty() ? std::to_string(explained.cost)
                                               : "refused: " + Shown(explained.refusal)});
  about.Print(4, out);
  TextTable settings({Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft});
  for (const rules::Setting& setting : limit.settings) {
    settings.Add({Shown(setting.field), Shown(setting.value),
                  std::string("from ") + LevelName(setting.level), At(setting.position)});
  }
  settings.Print(4, out);
}

void PrintRule(const rules::ExplainedRule& explained, std::string& out) {
  const rules::Rule& rule = *explained.rule;
  out += "\nrule " + Shown(rule.id) + " (" + At(rule.position) + "): ";
  if (explained.outcome != rules::RuleOutcome::kMet) {
    out += "not met: " + Shown(explained.why_not) + '\n';
    return;
  }
  out += "met";
  if (!explained.tier.empty()) out += ", tier " + Shown(explained.tier);
  if (explained.override_taken != nullptr) {
    out += ", override " + Shown(explained.override_taken->whose.text);
  }
  if (rule.shadow) out += ", shadow: never enforced";
  if (rule.final) out += ", final";
  out += '\n';
  for (const rules::ExplainedLimit& limit : explained.limits) PrintLimit(limit, out);
}

}  // namespace

const char* LevelName(rules::Level level) {
  switch (level) {
    case rules::Level::kBuiltIn:
      return "built-in";
    case rules::Level::kDefaults:
      return "defaults";
    case rules::Level::kTier:
      return "tier";
    case rules::Level::kRule:
      return "rule";
    case rules::Level::kOverride:
      return "override";
  }
  return "";
}

std::string KeyName(const rules::ExplainedLimit& limit) {
  std::string name;
  AppendKeyName({.scope = limit.scope, .tag = limit.tag, .rest = limit.rest}, name);
  return name;
}

std::string Conclusion(const Explanation& explanation, const rules::RuleFile& file) {
  if (explanation.listed == rules::Listed::kDenied) return "denied by the deny list";
  if (explanation.listed == rules::Listed::kAllowed) return "allowed by the allow list";
  if (explanation.refused) return "refused: its cost makes no sense";
  if (!explanation.met) {
    return file.otherwise == rules::Default::kAllow ? "allowed: no rule is met"
                                                    : "denied: no rule is met, default: deny";
  }
  std::size_t enforced = 0;
  std::size_t shadow = 0;
  bool rejected = false;
  for (const rules::ExplainedRule& rule : explanation.rules) {
    (rule.rule->shadow ? shadow : enforced) += rule.limits.size();
    for (const rules::ExplainedLimit& limit : rule.limits) {
      rejected = rejected || (limit.limit->reject_all && !rule.rule->shadow);
    }
  }
  if (rejected) return "denied: a rule rejects every call";
  std::string text = "allowed if " + std::to_string(enforced) +
                     (enforced == 1 ? " limit has" : " limits have") + " room";
  if (enforced == 0) text = "allowed";
  if (shadow > 0) text += "; " + std::to_string(shadow) + " in shadow";
  return text;
}

std::string ExplanationText(const Explanation& explanation, const rules::RuleFile& file,
                            const ExplainOptions& options) {
  std::string out;
  PrintCall(explanation, options, out);
  for (const rules::ExplainedRule& rule : explanation.rules) PrintRule(rule, out);
  out += '\n' + Conclusion(explanation, file) + '\n';
  return out;
}

int ExplainCall(const ExplainOptions& options) {
  const auto rules = LoadRules(options.rules);
  if (!rules) return 1;
  std::vector<rules::Attribute> attributes;
  for (const auto& [name, value] : options.attributes) attributes.push_back({name, value});
  const Explanation explanation = rules::Explain(*rules, attributes, options.cost);
  const std::string text = options.json ? ExplanationJson(explanation, rules->file(), options)
                                        : ExplanationText(explanation, rules->file(), options);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace sluice::app
