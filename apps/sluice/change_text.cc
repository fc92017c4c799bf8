#include "change_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "remote.h"
#include "text_table.h"

namespace sluice::app {
namespace {

using Align = TextTable::Align;

std::string ShownMember(const JsonValue& object, std::string_view name) {
  return Shown(MemberText(object, name));
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

// A share of 0 to 1, as "1.25 %".
std::string Percent(const std::string& ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", std::strtod(ratio.c_str(), nullptr) * 100);
  return text;
}

std::string Minutes(const std::string& seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f min", std::strtod(seconds.c_str(), nullptr) / 60);
  return text;
}

}  // namespace

void AppendDifferenceText(const JsonValue& body, std::string& out) {
  const auto difference = body.Find("difference");
  const JsonValue rows_of = difference.value_or(body);
  const auto rows = rows_of.Find("rows");
  if (!rows || rows->size() == 0) return;
  const std::string from = ShownMember(rows_of, "from");
  const std::string to = ShownMember(rows_of, "to");
  out +=
      "changes" + (from.empty() ? "" : " from " + from) + (to.empty() ? "" : " to " + to) + ":\n";
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft});
  for (const JsonValue row : *rows) {
    table.Add({OrDash(ShownMember(row, "rule")), ShownMember(row, "field"),
               ShownMember(row, "effect"),
               OrDash(ShownMember(row, "from")) + " → " + OrDash(ShownMember(row, "to"))});
  }
  table.Print(2, out);
}

void AppendImpactText(const JsonValue& body, std::string& out) {
  if (const std::string reason = ShownMember(body, "impact_unavailable"); !reason.empty()) {
    out += "impact: unknown: " + reason + '\n';
  }
  const auto impact = body.Find("impact");
  if (!impact || !impact->is_object()) return;
  out += "impact on " + MemberText(*impact, "calls") + " sampled calls of " +
         MemberText(*impact, "callers") + " callers (" +
         Minutes(MemberText(*impact, "span_seconds")) + ", " +
         Percent(MemberText(*impact, "share")) + " of the callers, " +
         MemberText(*impact, "nodes") + " nodes" +
         (MemberText(*impact, "approximate") == "true" ? ", approximate" : "") + "):\n";
  out += "  newly denied: " + MemberText(*impact, "newly_denied_calls") + " calls (" +
         Percent(MemberText(*impact, "newly_denied_ratio")) + ") of " +
         MemberText(*impact, "newly_denied_callers") + " callers\n";
  out += "  newly allowed: " + MemberText(*impact, "newly_allowed_calls") + " calls of " +
         MemberText(*impact, "newly_allowed_callers") + " callers\n";
  TextTable table({Align::kLeft, Align::kRight});
  if (const auto callers = impact->Find("most_denied")) {
    for (const JsonValue caller : *callers) {
      table.Add({ShownMember(caller, "attribute") + ' ' + ShownMember(caller, "value"),
                 MemberText(caller, "newly_denied_calls") + " of " + MemberText(caller, "calls") +
                     " calls newly denied"});
    }
  }
  table.Print(4, out);
}

void AppendNodesText(const JsonValue& body, std::string& out) {
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight,
                   Align::kLeft, Align::kLeft});
  table.Add({"NODE", "ADDRESS", "VERSION", "STATE", "SEEN", "STORE", "BUILD"});
  const auto nodes = body.Find("nodes");
  if (nodes) {
    for (const JsonValue node : *nodes) {
      const std::string error = ShownMember(node, "error");
      const std::string breaker = ShownMember(node, "breaker");
      table.Add({ShownMember(node, "id"), ShownMember(node, "address"),
                 OrDash(ShownMember(node, "version")),
                 ShownMember(node, "state") + (error.empty() ? "" : " (" + error + ")"),
                 MemberText(node, "seen_ms_ago") + " ms ago",
                 ShownMember(node, "store") + (breaker.empty() ? "" : ", breaker " + breaker),
                 ShownMember(node, "build")});
    }
  }
  table.Print(0, out);
}

void AppendVersionsText(const JsonValue& body, std::string& out) {
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft});
  table.Add({"VERSION", "TIME", "AUTHOR", "SOURCE", "MESSAGE"});
  const auto versions = body.Find("versions");
  if (versions) {
    for (const JsonValue version : *versions) {
      const std::string restores = ShownMember(version, "restores");
      table.Add({ShownMember(version, "version"), ShownMember(version, "time"),
                 ShownMember(version, "author"),
                 ShownMember(version, "source") + (restores.empty() ? "" : " " + restores),
                 ShownMember(version, "message")});
    }
  }
  table.Print(0, out);
}

}  // namespace sluice::app
