#include "base/json_writer.h"
#include "base/timestamp.h"
#include "simulation_report.h"

namespace sluice::app {
namespace {

void WriteTrace(const TraceSummary& trace, JsonWriter& json) {
  json.BeginObject();
  json.Key("file").String(trace.file);
  json.Key("calls").Uint(trace.calls);
  json.Key("bad_rows").Uint(trace.bad_rows);
  json.Key("late_rows").Uint(trace.late_rows);
  if (trace.calls > 0) {
    json.Key("first").String(FormatTimestamp(trace.first));
    json.Key("last").String(FormatTimestamp(trace.last));
  }
  json.EndObject();
}

void WriteLimit(const LimitTally& limit, JsonWriter& json) {
  json.BeginObject();
  json.Key("name").String(limit.name);
  if (limit.shadow) json.Key("shadow").Bool(true);
  if (limit.cohort != match::Cohort::kAll) {
    json.Key("cohort").String(match::NameOf(limit.cohort));
  }
  json.Key("matched").Uint(limit.matched);
  json.Key("allowed").Uint(limit.matched - limit.denied);
  json.Key("denied").Uint(limit.denied);
  json.Key("never_fits").Uint(limit.never_fits);
  json.Key("taken").Int(limit.taken);
  json.EndObject();
}

void WriteRule(const RuleTally& rule, std::size_t top, JsonWriter& json) {
  json.BeginObject();
  json.Key("id").String(rule.rule->id);
  json.Key("enabled").Bool(rule.rule->enabled);
  json.Key("shadow").Bool(rule.rule->shadow);
  json.Key("matched").Uint(rule.matched);
  json.Key("allowed").Uint(rule.matched - rule.denied);
  json.Key("denied").Uint(rule.denied);
  json.Key("lacking").Uint(rule.lacking);
  json.Key("cost_refused").Uint(rule.cost_refused);
  json.Key("limits").BeginArray();
  for (const LimitTally& limit : rule.limits) WriteLimit(limit, json);
  json.EndArray();
  json.Key("denied_keys").Uint(rule.denied_keys.size());
  json.Key("denied_most").BeginArray();
  for (const auto& [key, count] : DeniedMost(rule.denied_keys, top)) {
    json.BeginObject();
    json.Key("key").String(key);
    json.Key("denied").Uint(count);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteSimulation(const Simulation& simulation, std::size_t top, JsonWriter& json) {
  const SimulationTally& tally = simulation.tally();
  json.BeginObject();
  json.Key("file").String(simulation.rules().file().name);
  json.Key("calls").Uint(tally.calls);
  json.Key("allowed").Uint(tally.allowed);
  json.Key("denied").Uint(tally.denied());
  json.Key("on_allow_list").Uint(tally.Of(Reason::kAllowList));
  json.Key("on_deny_list").Uint(tally.Of(Reason::kDenyList));
  json.Key("allowed_by_entries").Uint(tally.Of(Reason::kAllowEntry));
  json.Key("blocked_by_entries").Uint(tally.Of(Reason::kBlockEntry));
  json.Key("no_rule").Uint(tally.Of(Reason::kNoRule));
  json.Key("cost_refused").Uint(tally.Of(Reason::kCostRefused));
  json.Key("not_evaluated").Uint(tally.Of(Reason::kNotEvaluated));
  json.Key("unending_slots").Uint(tally.unending_slots);
  json.Key("denials_of_keys_not_remembered").Uint(tally.keys_not_listed);
  json.Key("rules").BeginArray();
  for (const RuleTally& rule : tally.rules) WriteRule(rule, top, json);
  json.EndArray();
  json.EndObject();
}

void WriteChanges(const Changes& changes, JsonWriter& json) {
  json.BeginObject();
  json.Key("calls").Uint(changes.calls);
  json.Key("examples").BeginArray();
  for (const ChangedCall& call : changes.examples) {
    json.BeginObject();
    json.Key("line").Uint(call.line);
    json.Key("time").String(FormatTimestamp(call.time));
    json.Key("denied_by").String(call.denied_by);
    json.Key("attributes").BeginObject();
    for (const auto& [name, value] : call.attributes) json.Key(name).String(value);
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string JsonReport(const SimulationResult& result) {
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kIndented);
  json.BeginObject();
  json.Key("trace");
  WriteTrace(result.trace, json);
  json.Key("rules");
  WriteSimulation(*result.rules, result.top, json);
  if (result.against != nullptr) {
    json.Key("against");
    WriteSimulation(*result.against, result.top, json);
    json.Key("difference").BeginObject();
    json.Key("newly_denied");
    WriteChanges(result.comparison->newly_denied(), json);
    json.Key("newly_allowed");
    WriteChanges(result.comparison->newly_allowed(), json);
    json.EndObject();
  }
  json.EndObject();
  return out + '\n';
}

}  // namespace sluice::app
