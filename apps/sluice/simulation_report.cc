#include "simulation_report.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/timestamp.h"
#include "text_table.h"

namespace sluice::app {
namespace {

using Align = TextTable::Align;

std::string Number(std::uint64_t number) { return std::to_string(number); }

std::string Share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "%.2f %%",
                100 * static_cast<double>(part) / static_cast<double>(whole));
  return text.data();
}

std::string Signed(std::uint64_t before, std::uint64_t after) {
  if (after == before) return "=";
  std::string text(1, after > before ? '+' : '-');
  text += Number(after > before ? after - before : before - after);
  return text;
}

void PrintTrace(const TraceSummary& trace, std::string& out) {
  out += "trace " + trace.file + ": " + Number(trace.calls) + " calls";
  if (trace.calls > 0)
    out += ", " + FormatTimestamp(trace.first) + " to " + FormatTimestamp(trace.last);
  out += '\n';
  if (trace.bad_rows > 0) out += "  bad rows, left out: " + Number(trace.bad_rows) + '\n';
  if (trace.late_rows > 0) {
    out += "  rows earlier than the one before, evaluated at its time: " + Number(trace.late_rows) +
           '\n';
  }
}

// Lines of numbers other than zero.
void PrintTotals(const SimulationTally& tally, std::string& out) {
  TextTable table({Align::kLeft, Align::kRight, Align::kRight});
  const auto add = [&](const char* name, std::uint64_t count) {
    table.Add({name, Number(count), Share(count, tally.calls)});
  };
  const auto add_some = [&](const char* name, std::uint64_t count) {
    if (count > 0) add(name, count);
  };
  add("allowed", tally.allowed);
  add_some("  on the allow list", tally.Of(Reason::kAllowList));
  add_some("  allowed by a live entry", tally.Of(Reason::kAllowEntry));
  add_some("  no rule matched", tally.Of(Reason::kNoRule) - tally.no_rule_denied);
  add("denied", tally.denied());
  add_some("  on the deny list", tally.Of(Reason::kDenyList));
  add_some("  blocked by a live entry", tally.Of(Reason::kBlockEntry));
  add_some("  no rule matched, default: deny", tally.no_rule_denied);
  add_some("  cost refused", tally.Of(Reason::kCostRefused));
  add_some("not evaluated: no room for the key", tally.Of(Reason::kNotEvaluated));
  table.Print(2, out);
}

std::string NameOf(const rules::Rule& rule) {
  std::string name = Shown(rule.id);
  if (!rule.enabled) return name + " (disabled)";
  return rule.shadow ? name + " (shadow)" : name;
}

std::string NameOf(const LimitTally& limit) {
  std::string name = Shown(limit.name);
  if (limit.cohort != match::Cohort::kAll) {
    name.append(", ").append(match::NameOf(limit.cohort)).append(" cohort");
  }
  return limit.shadow ? name + " (shadow)" : name;
}

void PrintRules(const SimulationTally& tally, std::string& out) {
  TextTable table(
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.Add({"rule", "limit", "matched", "allowed", "denied", "share"});
  for (const RuleTally& rule : tally.rules) {
    for (const LimitTally& limit : rule.limits) {
      table.Add({NameOf(*rule.rule), NameOf(limit), Number(limit.matched),
                 Number(limit.matched - limit.denied), Number(limit.denied),
                 Share(limit.denied, limit.matched)});
    }
  }
  table.Print(2, out);
  for (const RuleTally& rule : tally.rules) {
    const std::string name = "  " + Shown(rule.rule->id) + ": ";
    if (rule.rule->shadow && rule.denied > 0) {
      out += name + "denials are those that there would be\n";
    }
    if (rule.lacking > 0) {
      out += name + "calls that lack an attribute of `per`: " + Number(rule.lacking) + '\n';
    }
    if (rule.cost_refused > 0) {
      out += name + "calls whose cost is refused: " + Number(rule.cost_refused) + '\n';
    }
    for (const LimitTally& limit : rule.limits) {
      if (limit.never_fits == 0) continue;
      out += name + "calls that can never fit in " + Shown(limit.name) + ": " +
             Number(limit.never_fits) + '\n';
    }
  }
  if (tally.unending_slots > 0) {
    out += "  slots held until their time to live, since the trace has no `duration`: " +
           Number(tally.unending_slots) + '\n';
  }
}

void PrintDeniedKeys(const SimulationTally& tally, std::size_t top, std::string& out) {
  for (const RuleTally& rule : tally.rules) {
    if (rule.denied_keys.empty() || top == 0) continue;
    out += "\ndenied most by " + NameOf(*rule.rule) +
           " (keys denied in all: " + Number(rule.denied_keys.size()) + "):\n";
    TextTable table({Align::kRight, Align::kLeft});
    for (const auto& [key, count] : DeniedMost(rule.denied_keys, top)) {
      table.Add({Number(count), Shown(key)});
    }
    table.Print(2, out);
  }
  if (tally.keys_not_listed > 0) {
    out += "  denials of keys beyond those remembered: " + Number(tally.keys_not_listed) + '\n';
  }
}

void PrintSimulation(const Simulation& simulation, std::size_t top, std::string& out) {
  out += "\nrules " + simulation.rules().file().name + '\n';
  PrintTotals(simulation.tally(), out);
  out += '\n';
  PrintRules(simulation.tally(), out);
  PrintDeniedKeys(simulation.tally(), top, out);
}

// The rules of both files by id, in the order of `after`, then those that are gone.
void PrintRuleDifferences(const SimulationTally& before, const SimulationTally& after,
                          std::string& out) {
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                   Align::kRight, Align::kRight});
  table.Add({"rule", "matched before", "after", "", "denied before", "after", ""});
  const auto find = [](const SimulationTally& tally, const std::string& id) -> const RuleTally* {
    for (const RuleTally& rule : tally.rules) {
      if (rule.rule->id == id) return &rule;
    }
    return nullptr;
  };
  for (const RuleTally& rule : after.rules) {
    const RuleTally* old = find(before, rule.rule->id);
    if (old == nullptr) {
      table.Add(
          {NameOf(*rule.rule), "-", Number(rule.matched), "new", "-", Number(rule.denied), "new"});
      continue;
    }
    table.Add({NameOf(*rule.rule), Number(old->matched), Number(rule.matched),
               Signed(old->matched, rule.matched), Number(old->denied), Number(rule.denied),
               Signed(old->denied, rule.denied)});
  }
  for (const RuleTally& rule : before.rules) {
    if (find(after, rule.rule->id) != nullptr) continue;
    table.Add(
        {NameOf(*rule.rule), Number(rule.matched), "-", "gone", Number(rule.denied), "-", "gone"});
  }
  table.Print(2, out);
}

void PrintChanges(const char* title, const Changes& changes, std::uint64_t calls,
                  std::string& out) {
  out += "  " + std::string(title) + ": " + Number(changes.calls) + " (" +
         Share(changes.calls, calls) + ")\n";
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft});
  for (const ChangedCall& call : changes.examples) {
    std::string attributes;
    for (const auto& [name, value] : call.attributes) {
      if (!attributes.empty()) attributes += ' ';
      attributes += Shown(name) + '=' + Shown(value);
    }
    table.Add({"line " + Number(call.line), FormatTimestamp(call.time),
               "by " + Shown(call.denied_by), attributes});
  }
  table.Print(4, out);
}

void PrintDifference(const SimulationResult& result, std::string& out) {
  const SimulationTally& before = result.against->tally();
  const SimulationTally& after = result.rules->tally();
  out += "\ndifference: from " + result.against->rules().file().name + " to " +
         result.rules->rules().file().name + '\n';
  PrintChanges("allowed before, denied now", result.comparison->newly_denied(), after.calls, out);
  PrintChanges("denied before, allowed now", result.comparison->newly_allowed(), after.calls, out);
  out += '\n';
  PrintRuleDifferences(before, after, out);
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> DeniedMost(const DeniedKeys& keys,
                                                              std::size_t top) {
  std::vector<std::pair<std::string, std::uint64_t>> most(keys.begin(), keys.end());
  const auto end = most.begin() + static_cast<std::ptrdiff_t>(std::min(top, most.size()));
  std::partial_sort(most.begin(), end, most.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  most.erase(end, most.end());
  return most;
}

std::string TextReport(const SimulationResult& result) {
  std::string out;
  PrintTrace(result.trace, out);
  PrintSimulation(*result.rules, result.top, out);
  if (result.against != nullptr) PrintDifference(result, out);
  return out;
}

}  // namespace sluice::app
