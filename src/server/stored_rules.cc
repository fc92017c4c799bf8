#include "server/stored_rules.h"

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/read_file.h"
#include "match/load_rules.h"
#include "rules/endpoint_case.h"
#include "rules/reader.h"
#include "simulate/impact.h"

namespace sluice::server {
namespace {

using telemetry::LogLevel;

std::string FirstLine(const std::vector<std::string>& errors) {
  if (errors.empty()) return "unknown error";
  return errors.front() +
         (errors.size() > 1 ? " (and " + std::to_string(errors.size() - 1) + " more)" : "");
}

std::string SourceName(const control::VersionRef& ref) {
  return ref.id.number == 0 ? "the rule file" : "version " + ToText(ref.id);
}

}  // namespace

StoredRules::StoredRules(Shared& shared) : shared_(shared) {
  const std::string& path = shared.config.rules;
  if (path.empty()) return;
  auto text = ReadFile(path);
  if (!text) {
    seed_errors_ = {path + " " + text.error().message};
    return;
  }
  const rules::ReadResult read = rules::Read(path, *text);
  if (read.file) {
    seed_ = *std::move(text);
  } else {
    seed_errors_ = DescribeAll(read.errors);
  }
}

control::LoadReport StoredRules::Activate(const control::Version& version) {
  LoadReport report = match::LoadRules(shared_.rules, SourceName(version.info.ref), version.text,
                                       TheSystemClock().Now(), [this](rules::RuleFile& file) {
                                         for (rules::Rule& rule : file.rules) {
                                           shared_.NumberLimits(rule);
                                         }
                                       });
  if (report.outcome == LoadOutcome::kRefused) {
    for (const std::string& error : report.errors) {
      shared_.log.Write(LogLevel::kError, "rules error", {{"error", error}});
    }
    return {.error = FirstLine(report.errors)};
  }
  shared_.AddRuleWarnings(report);
  for (const std::string& warning : report.warnings) {
    shared_.log.Write(LogLevel::kWarn, "rules warning", {{"warning", warning}});
  }
  const std::lock_guard lock(mutex_);
  activated_.emplace_back(report.version, version.info.ref.id);
  if (activated_.size() > 2 * Shared::kVersionsKept) activated_.erase(activated_.begin());
  return {.activated = true};
}

std::optional<control::VersionId> StoredRules::FindActivated(std::uint64_t live_number) {
  const std::lock_guard lock(mutex_);
  for (auto known = activated_.rbegin(); known != activated_.rend(); ++known) {
    if (known->first == live_number && known->second.number > 0) return known->second;
  }
  return std::nullopt;
}

control::ChangeImpact StoredRules::EvaluateImpact(const match::RuleSet& before,
                                                  const match::RuleSet& after,
                                                  std::size_t live_nodes) const {
  if (!shared_.traffic) return {.unavailable_reason = "control.traffic_sample is false"};
  simulate::ImpactResult result = simulate::EvaluateImpact(
      shared_.traffic->Take(TheSystemClock().Now()), {before, shared_.entries.Active().value},
      {after, shared_.entries.Active().value},
      {.nodes = static_cast<std::uint32_t>(std::max<std::size_t>(live_nodes, 1))});
  if (!result.impact) return {.unavailable_reason = std::move(result.unavailable_reason)};
  const double ratio = result.impact->newly_denied_ratio();
  return {.newly_denied_ratio = ratio,
          .details = std::make_shared<const simulate::Impact>(*std::move(result.impact))};
}

}  // namespace sluice::server
