#include "explain_command.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/key.h"
#include "base/timestamp.h"
#include "entries_file.h"
#include "load_rules.h"
#include "match/entry_text.h"
#include "rules/limit_text.h"
#include "rules/rollout_text.h"
#include "text_table.h"

namespace sluice::app {
namespace {

using Align = TextTable::Align;
using match::Explanation;

std::string At(const config_text::Position& position) {
  return position.line > 0 ? "line " + std::to_string(position.line) : std::string();
}

std::string TierText(const Explanation& explanation) {
  const std::string tier = Shown(explanation.tier);
  switch (explanation.tier_source) {
    case match::TierSource::kNone:
      break;
    case match::TierSource::kAttribute:
      return tier + ", from the attribute `tier`";
    case match::TierSource::kKeys:
      return tier + ", from `keys`: " + Shown(explanation.tier_key->key.text);
    case match::TierSource::kDefault:
      return tier + ", the default";
  }
  return "not known";
}

std::string ListText(const Explanation& explanation) {
  if (explanation.listed == match::Listed::kNo) return "on none";
  const char* const name =
      explanation.listed == match::Listed::kDenied ? "on the deny list: " : "on the allow list: ";
  return name + Shown(explanation.list_entry->text) + " (" + At(explanation.list_entry->position) +
         ")";
}

void PrintCall(const Explanation& explanation, const ExplainOptions& options, std::string& out) {
  TextTable table({Align::kLeft, Align::kLeft});
  for (const auto& [name, value] : options.attributes) table.Add({Shown(name), Shown(value)});
  if (!explanation.endpoint_template.empty()) {
    table.Add({"endpoint as", Shown(explanation.endpoint_template)});
  }
  if (options.use.empty()) table.Add({"cost", std::to_string(options.cost)});
  for (const auto& [name, amount] : options.use) {
    table.Add({"use", Shown(name) + " " + std::to_string(amount)});
  }
  if (options.at) table.Add({"time", FormatTimestamp(*options.at)});
  table.Add({"tier", TierText(explanation)});
  table.Add({"lists", ListText(explanation)});
  for (const match::LiveEntry* const live : explanation.entries) {
    const std::string& rule = live->entry.rule;
    table.Add({"entry", Shown(live->entry.id) + ": " + Shown(EffectText(live->entry)) +
                            (rule.empty() ? "" : ", rule " + Shown(rule))});
  }
  if (explanation.key_unknown) table.Add({"api_key", "not among `known_keys`: counts as absent"});
  out += "call\n";
  table.Print(2, out);
}

std::string ScheduleText(const rules::Schedule& schedule) {
  std::string text;
  if (schedule.starts_at != WallTime::min()) {
    text += ", since " + FormatTimestamp(schedule.starts_at);
  }
  if (schedule.expires_at != WallTime::max()) {
    text += ", until " + FormatTimestamp(schedule.expires_at);
  }
  return text;
}

void PrintLimit(const match::ExplainedLimit& explained, std::string& out) {
  const rules::NamedLimit& limit = *explained.limit;
  out += "  limit " + Shown(limit.name) + (limit.shadow ? " (shadow): " : ": ");
  if (limit.is_for_missing) {
    out += "rejects calls that lack an attribute of `per`\n";
    return;
  }
  out += limit.reject_all ? "rejects every call" : rules::LimitText(limit, limit.limit.numbers());
  if (!limit.reject_all) out += " (" + std::string(AlgorithmName(limit.limit.algorithm())) + ")";
  out += '\n';
  TextTable about({Align::kLeft, Align::kLeft});
  about.Add({"counts", Shown(limit.type)});
  if (explained.entry != nullptr) {
    const std::string& id = explained.entry->entry.id;
    about.Add(
        {"entry", Shown(id) + ": " +
                      (explained.adjusted ? rules::LimitText(limit, explained.adjusted->numbers())
                                          : EffectText(explained.entry->entry))});
  }
  if (!limit.schedule.always()) about.Add({"applies", ScheduleText(limit.schedule).substr(2)});
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

void PrintRule(const match::ExplainedRule& explained, std::string& out) {
  const rules::Rule& rule = *explained.rule;
  out += "\nrule " + Shown(rule.id) + " (" + At(rule.position) + "): ";
  if (explained.outcome != match::RuleOutcome::kMatched) {
    out += "not matched: " + Shown(explained.why_not) + '\n';
    return;
  }
  out += "matched";
  if (explained.is_missing) {
    out += explained.attribute.empty() ? ", the call has neither an API key nor an address"
                                       : ", the call has no '" + Shown(explained.attribute) + "'";
    out += rule.on_missing == rules::OnMissing::kDeny ? ": denied" : ": such calls share a budget";
  }
  if (!explained.tier.empty()) out += ", tier " + Shown(explained.tier);
  if (explained.override_taken != nullptr) {
    out += ", override " + Shown(explained.override_taken->whose.text);
  }
  if (explained.cohort == match::Cohort::kNew)
    out += ", in the rollout of " + rules::PercentText(rule.rollout->share);
  if (explained.cohort == match::Cohort::kOld) {
    out += ", outside of the rollout of " + rules::PercentText(rule.rollout->share) +
           ": `from` applies";
  }
  if (!rule.schedule.always()) out += ScheduleText(rule.schedule);
  if (rule.shadow) out += ", shadow: never enforced";
  if (rule.final) out += ", final";
  out += '\n';
  for (const match::ExplainedLimit& limit : explained.limits) PrintLimit(limit, out);
  for (const match::SkippedLimit& skipped : explained.skipped) {
    out += "  limit " + Shown(skipped.limit->name) + ": does not apply: " + skipped.why + '\n';
  }
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

std::string KeyName(const match::ExplainedLimit& limit) {
  std::string name;
  AppendKeyName({.scope = limit.scope, .tag = limit.tag, .rest = limit.rest}, name);
  return name;
}

std::string Conclusion(const Explanation& explanation, const rules::RuleFile& file) {
  if (explanation.block != nullptr) {
    return "denied: blocked by the live entry " + Shown(explanation.block->entry.id);
  }
  if (explanation.listed == match::Listed::kDenied) return "denied by the deny list";
  if (explanation.listed == match::Listed::kAllowed) return "allowed by the allow list";
  if (explanation.exemption != nullptr) {
    return "allowed by the live entry " + Shown(explanation.exemption->entry.id);
  }
  if (explanation.refused) return "refused: its cost is invalid";
  if (!explanation.matched) {
    return file.otherwise == rules::DefaultAction::kAllow
               ? "allowed: no rule matches"
               : "denied: no rule matches, default: deny";
  }
  std::size_t enforced = 0;
  std::size_t shadow = 0;
  bool rejected = false;
  bool is_missing = false;
  for (const match::ExplainedRule& rule : explanation.rules) {
    for (const match::ExplainedLimit& limit : rule.limits) {
      const bool never_denies =
          limit.entry != nullptr && (limit.entry->entry.effect == match::EntryEffect::kAllow ||
                                     limit.entry->entry.effect == match::EntryEffect::kUnlimited);
      if (never_denies) continue;
      const bool is_shadow = IsShadow(*rule.rule, *limit.limit);
      ++(is_shadow ? shadow : enforced);
      const bool rejects = limit.limit->reject_all && !is_shadow;
      (limit.limit->is_for_missing ? is_missing : rejected) |= rejects;
    }
  }
  if (rejected) return "denied: a rule rejects every call";
  if (is_missing) return "denied: the call lacks an attribute that a rule needs";
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
  for (const match::ExplainedRule& rule : explanation.rules) PrintRule(rule, out);
  out += '\n' + Conclusion(explanation, file) + '\n';
  return out;
}

int ExplainCall(const ExplainOptions& options) {
  const auto rules = LoadRules(options.rules);
  if (!rules) return 1;
  std::vector<Attribute> attributes;
  for (const auto& [name, value] : options.attributes) attributes.push_back({name, value});
  const WallTime now = options.at.value_or(TheSystemClock().Now());
  const auto entries = LoadEntries(options.entries);
  if (!entries) return 1;
  match::EntryMatches matches;
  entries->Find(attributes, now, matches);
  std::vector<UsedQuantity> use;
  for (const auto& [name, amount] : options.use) use.push_back({name, amount});
  Explanation explanation = match::Explain(
      *rules, attributes, use.empty() ? match::Usage(options.cost) : match::Usage(use), now);
  match::ExplainEntries(matches.found(), explanation);
  const std::string text = options.json ? ExplanationJson(explanation, rules->file(), options)
                                        : ExplanationText(explanation, rules->file(), options);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace sluice::app
