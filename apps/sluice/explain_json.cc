#include "base/json_writer.h"
#include "base/labels.h"
#include "base/timestamp.h"
#include "explain_command.h"
#include "match/entry_text.h"
#include "rules/limit_text.h"

namespace sluice::app {
namespace {

using match::Explanation;

const char* SourceName(match::TierSource source) {
  switch (source) {
    case match::TierSource::kNone:
      return "none";
    case match::TierSource::kAttribute:
      return "attribute";
    case match::TierSource::kKeys:
      return "keys";
    case match::TierSource::kDefault:
      return "default_tier";
  }
  return "";
}

void WriteCall(const Explanation& explanation, const ExplainOptions& options, JsonWriter& json) {
  json.BeginObject();
  json.Key("attributes").BeginArray();
  for (const auto& [name, value] : options.attributes) {
    json.BeginObject();
    json.Key("name").String(name);
    json.Key("value").String(value);
    json.EndObject();
  }
  json.EndArray();
  json.Key("cost").Int(options.cost);
  if (options.at) json.Key("time").String(FormatTimestamp(*options.at));
  json.Key("tier").String(explanation.tier);
  json.Key("tier_source").String(SourceName(explanation.tier_source));
  json.Key("api_key_known").Bool(!explanation.key_unknown);
  json.Key("endpoint_template").String(explanation.endpoint_template);
  json.EndObject();
}

void WriteList(const Explanation& explanation, JsonWriter& json) {
  if (explanation.listed == match::Listed::kNo) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("list").String(explanation.listed == match::Listed::kDenied ? "deny" : "allow");
  json.Key("entry").String(explanation.list_entry->text);
  json.Key("line").Int(explanation.list_entry->position.line);
  json.EndObject();
}

void WriteSchedule(const rules::Schedule& schedule, JsonWriter& json) {
  if (schedule.starts_at != WallTime::min()) {
    json.Key("starts_at").String(FormatTimestamp(schedule.starts_at));
  }
  if (schedule.expires_at != WallTime::max()) {
    json.Key("expires_at").String(FormatTimestamp(schedule.expires_at));
  }
}

void WriteLimit(const match::ExplainedLimit& explained, JsonWriter& json) {
  const rules::NamedLimit& limit = *explained.limit;
  json.BeginObject();
  json.Key("name").String(limit.name);
  json.Key("type").String(limit.type);
  json.Key("shadow").Bool(limit.shadow);
  WriteSchedule(limit.schedule, json);
  json.Key("reject_all").Bool(limit.reject_all);
  if (!limit.reject_all) {
    json.Key("algorithm").String(AlgorithmName(limit.limit.algorithm()));
    json.Key("cap").Int(limit.limit.cap() / limit.scale);
    json.Key("text").String(rules::LimitText(limit, limit.limit.numbers()));
  }
  if (explained.entry != nullptr) {
    json.Key("entry").String(explained.entry->entry.id);
    if (explained.adjusted) {
      json.Key("adjusted_text").String(rules::LimitText(limit, explained.adjusted->numbers()));
    }
  }
  json.Key("key").String(KeyName(explained));
  if (explained.refusal.empty()) {
    json.Key("cost").Int(explained.cost);
  } else {
    json.Key("refusal").String(explained.refusal);
  }
  json.Key("settings").BeginArray();
  for (const rules::Setting& setting : limit.settings) {
    json.BeginObject();
    json.Key("field").String(setting.field);
    json.Key("value").String(setting.value);
    json.Key("level").String(LevelName(setting.level));
    json.Key("line").Int(setting.position.line);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteRule(const match::ExplainedRule& explained, JsonWriter& json) {
  const rules::Rule& rule = *explained.rule;
  json.BeginObject();
  json.Key("id").String(rule.id);
  json.Key("line").Int(rule.position.line);
  json.Key("outcome").String(LabelOf(explained.outcome));
  json.Key("shadow").Bool(rule.shadow);
  WriteSchedule(rule.schedule, json);
  if (explained.cohort != match::Cohort::kAll) {
    json.Key("cohort").String(match::NameOf(explained.cohort));
  }
  if (explained.outcome != match::RuleOutcome::kMatched) {
    json.Key("why_not").String(explained.why_not);
    json.EndObject();
    return;
  }
  if (explained.is_missing) json.Key("missing_attribute").String(explained.attribute);
  json.Key("final").Bool(rule.final);
  json.Key("tier").String(explained.tier);
  json.Key("override");
  if (explained.override_taken != nullptr) {
    json.String(explained.override_taken->whose.text);
  } else {
    json.Null();
  }
  json.Key("limits").BeginArray();
  for (const match::ExplainedLimit& limit : explained.limits) WriteLimit(limit, json);
  json.EndArray();
  json.Key("skipped_limits").BeginArray();
  for (const match::SkippedLimit& skipped : explained.skipped) {
    json.BeginObject();
    json.Key("name").String(skipped.limit->name);
    json.Key("why_not").String(skipped.why);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string ExplanationJson(const Explanation& explanation, const rules::RuleFile& file,
                            const ExplainOptions& options) {
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kIndented);
  json.BeginObject();
  json.Key("call");
  WriteCall(explanation, options, json);
  json.Key("listed");
  WriteList(explanation, json);
  json.Key("entries").BeginArray();
  for (const match::LiveEntry* const live : explanation.entries) {
    json.BeginObject().Key("id").String(live->entry.id);
    match::AppendMembers(live->entry, json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("rules").BeginArray();
  for (const match::ExplainedRule& rule : explanation.rules) WriteRule(rule, json);
  json.EndArray();
  json.Key("conclusion").String(Conclusion(explanation, file));
  json.EndObject();
  return out + '\n';
}

}  // namespace sluice::app
