#include "api/admin/control_json.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>

#include "api/admin/key_text.h"
#include "base/timestamp.h"
#include "simulate/impact.h"

namespace sluice::api {
namespace {

// A document of 4 MiB may have a hundred thousand errors, or differ in as many fields.
constexpr std::size_t kMostFindings = 1000;
constexpr std::size_t kMostRows = 10'000;

void AppendTime(WallTime time, JsonWriter& json) {
  time == WallTime{} ? json.Null() : json.String(FormatTimestamp(time));
}

void AppendId(const control::VersionId& id, JsonWriter& json) {
  id.number == 0 ? json.Null() : json.String(ToText(id));
}

void AppendOptionalText(std::string_view text, JsonWriter& json) {
  text.empty() ? json.Null() : json.String(text);
}

void AppendFindings(const std::vector<config_text::Diagnostic>& findings, JsonWriter& json) {
  json.BeginArray();
  for (const config_text::Diagnostic& finding :
       std::span(findings).first(std::min(findings.size(), kMostFindings))) {
    json.BeginObject();
    json.Key("line").Int(finding.position.line);
    json.Key("column").Int(finding.position.column);
    json.Key("path").String(finding.field);
    json.Key("message").String(finding.message);
    json.EndObject();
  }
  json.EndArray();
}

void AppendRows(const std::vector<rules::DifferenceRow>& rows, JsonWriter& json) {
  json.BeginArray();
  for (const rules::DifferenceRow& row : std::span(rows).first(std::min(rows.size(), kMostRows))) {
    json.BeginObject();
    json.Key("rule");
    AppendOptionalText(row.rule, json);
    json.Key("field").String(row.field);
    json.Key("from");
    AppendOptionalText(row.from, json);
    json.Key("to");
    AppendOptionalText(row.to, json);
    json.Key("effect").String(rules::NameOf(row.effect));
    json.EndObject();
  }
  json.EndArray();
}

void AppendChangeDifference(const control::ChangeResult& result, JsonWriter& json) {
  json.Key("difference").BeginObject();
  json.Key("from");
  AppendOptionalText(result.difference_from, json);
  json.Key("to");
  AppendOptionalText(result.difference_to, json);
  json.Key("rows");
  AppendRows(result.difference, json);
  json.EndObject();
}

std::string ShownCaller(const simulate::AffectedCaller& caller) {
  return caller.attribute == "ip" ? caller.value : ShortKey(caller.value);
}

void AppendImpactDetails(const simulate::Impact& impact, JsonWriter& json) {
  json.BeginObject();
  json.Key("calls").Uint(impact.calls);
  json.Key("callers").Uint(impact.callers);
  json.Key("replayed_calls").Uint(impact.replayed_calls);
  json.Key("newly_denied_calls").Uint(impact.newly_denied_calls);
  json.Key("newly_denied_callers").Uint(impact.newly_denied_callers);
  json.Key("newly_denied_ratio").Double(impact.newly_denied_ratio());
  json.Key("newly_allowed_calls").Uint(impact.newly_allowed_calls);
  json.Key("newly_allowed_callers").Uint(impact.newly_allowed_callers);
  json.Key("nodes").Uint(impact.nodes);
  json.Key("share").Double(impact.share);
  json.Key("span_seconds").Double(std::chrono::duration<double>(impact.span).count());
  json.Key("approximate").Bool(impact.approximate);
  json.Key("most_denied").BeginArray();
  for (const simulate::AffectedCaller& caller : impact.most_denied) {
    json.BeginObject();
    json.Key("attribute");
    AppendOptionalText(caller.attribute, json);
    json.Key("value").String(ShownCaller(caller));
    json.Key("calls").Uint(caller.calls);
    json.Key("newly_denied_calls").Uint(caller.newly_denied_calls);
    json.Key("newly_allowed_calls").Uint(caller.newly_allowed_calls);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void AppendImpact(const control::ChangeImpact& impact, JsonWriter& json) {
  json.Key("impact");
  if (impact.details) {
    AppendImpactDetails(*impact.details, json);
  } else {
    json.Null();
    json.Key("impact_unavailable").String(impact.unavailable_reason);
  }
}

void AppendNode(const control::NodeStatus& status, WallTime now, JsonWriter& json) {
  const control::NodeRecord& node = status.node;
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - node.last_seen);
  json.Key("id").String(node.id);
  json.Key("address").String(node.address);
  json.Key("build").String(node.build);
  json.Key("started");
  AppendTime(node.started, json);
  json.Key("uptime_seconds")
      .Int(std::chrono::duration_cast<std::chrono::seconds>(node.last_seen - node.started).count());
  json.Key("version");
  AppendId(node.active.id, json);
  json.Key("hash").String(node.active.hash);
  json.Key("since");
  AppendTime(node.active_since, json);
  json.Key("state").String(control::NameOf(status.state));
  json.Key("rejected");
  AppendId(node.rejected.id, json);
  json.Key("error");
  AppendOptionalText(node.error, json);
  json.Key("last_seen");
  AppendTime(node.last_seen, json);
  json.Key("seen_ms_ago").Int(age.count());
  json.Key("store").String(node.store);
  json.Key("breaker");
  AppendOptionalText(node.breaker, json);
}

void AppendPropagation(const control::Propagation& propagation, JsonWriter& json) {
  json.Key("applied").Uint(propagation.applied);
  json.Key("of").Uint(propagation.of);
  json.Key("lagging").BeginArray();
  for (const control::LaggingNode& lagging : propagation.lagging) {
    json.BeginObject();
    json.Key("node").String(lagging.status.node.id);
    json.Key("address").String(lagging.status.node.address);
    json.Key("state").String(control::NameOf(lagging.status.state));
    json.Key("version");
    AppendId(lagging.status.node.active.id, json);
    json.Key("reason").String(lagging.reason);
    json.EndObject();
  }
  json.EndArray();
}

void AppendInfo(const control::VersionInfo& info, JsonWriter& json) {
  json.Key("version").String(ToText(info.ref.id));
  json.Key("etag").String(EntityTag(info.ref));
  json.Key("hash").String(info.ref.hash);
  json.Key("time");
  AppendTime(info.time, json);
  json.Key("author").String(info.origin.author);
  json.Key("authentication").String(info.origin.authentication);
  json.Key("address");
  AppendOptionalText(info.origin.address, json);
  json.Key("message").String(info.message);
  json.Key("source").String(control::NameOf(info.source));
  json.Key("restores");
  AppendId(info.restores, json);
  json.Key("bytes").Uint(info.bytes);
}

}  // namespace

void AppendChangeResult(const control::ChangeResult& result, JsonWriter& json) {
  json.BeginObject();
  json.Key("outcome").String(control::NameOf(result.outcome));
  if (result.version.ref.id.number > 0) {
    json.Key("version").String(ToText(result.version.ref.id));
    json.Key("etag").String(EntityTag(result.version.ref));
    json.Key("hash").String(result.version.ref.hash);
  }
  if (result.outcome == control::ChangeOutcome::kCommitted) {
    json.Key("created").Bool(result.created);
    json.Key("replicated");
    result.replicated ? json.Bool(*result.replicated) : json.Null();
  }
  if (result.outcome == control::ChangeOutcome::kValid) json.Key("valid").Bool(true);
  json.Key("warnings");
  AppendFindings(result.warnings, json);
  AppendChangeDifference(result, json);
  if (result.impact) AppendImpact(*result.impact, json);
  if (result.propagation) AppendPropagation(*result.propagation, json);
  json.EndObject();
}

void AppendChangeProblem(const control::ChangeResult& result, JsonWriter& json) {
  if (result.current.id.number > 0) json.Key("current").String(EntityTag(result.current));
  if (!result.errors.empty()) {
    json.Key("errors");
    AppendFindings(result.errors, json);
  }
  if (!result.warnings.empty()) {
    json.Key("warnings");
    AppendFindings(result.warnings, json);
  }
  if (!result.difference.empty()) AppendChangeDifference(result, json);
  if (result.impact) AppendImpact(*result.impact, json);
}

void AppendVersions(const std::vector<control::VersionInfo>& versions, JsonWriter& json) {
  json.BeginObject().Key("versions").BeginArray();
  for (const control::VersionInfo& info : versions) {
    json.BeginObject();
    AppendInfo(info, json);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void AppendVersion(const control::Version& version, JsonWriter& json) {
  json.BeginObject();
  AppendInfo(version.info, json);
  json.Key("text").String(version.text);
  json.EndObject();
}

void AppendDifference(const control::VersionDifference& difference, JsonWriter& json) {
  json.BeginObject();
  json.Key("from").String(ToText(difference.from.ref.id));
  json.Key("to").String(ToText(difference.to.ref.id));
  json.Key("rows");
  AppendRows(difference.rows, json);
  json.EndObject();
}

void AppendNodes(const control::NodeList& nodes, JsonWriter& json) {
  json.BeginObject();
  json.Key("current");
  AppendId(nodes.current.id, json);
  json.Key("nodes").BeginArray();
  for (const control::NodeStatus& status : nodes.nodes) {
    json.BeginObject();
    AppendNode(status, nodes.now, json);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void AppendAuditRecord(const control::AuditRecord& record, JsonWriter& json) {
  const control::AuditEvent& event = record.event;
  json.BeginObject();
  json.Key("sequence").Uint(record.sequence);
  json.Key("time");
  AppendTime(event.time, json);
  json.Key("author").String(event.origin.author);
  json.Key("authentication").String(event.origin.authentication);
  json.Key("address");
  AppendOptionalText(event.origin.address, json);
  json.Key("action").String(event.action);
  json.Key("target").String(event.target);
  json.Key("message").String(event.message);
  json.Key("node").String(event.node);
  json.Key("previous_hash").String(record.previous_hash);
  json.Key("hash").String(record.hash);
  json.EndObject();
}

}  // namespace sluice::api
