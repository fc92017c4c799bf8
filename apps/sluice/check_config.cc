#include "check_config.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "base/clock.h"
#include "base/json_writer.h"
#include "rules/reader.h"
#include "rules/schedule_reader.h"

namespace sluice::app {
namespace {

std::string Count(std::size_t count, std::string_view what) {
  std::string text = std::to_string(count) + ' ' + std::string(what);
  return count == 1 ? text : text + 's';
}

// Of a rule for its usual callers; where only tiers have numbers, of one of them.
std::size_t LimitsOf(const rules::Rule& rule) {
  const rules::LimitVariants& variants = rule.variants;
  if (!variants.usual.empty() || variants.by_tier.empty()) return variants.usual.size();
  return variants.by_tier.begin()->second.size();
}

std::string Summary(const rules::RuleFile& file) {
  std::size_t limits = 0;
  std::size_t overrides = 0;
  std::size_t shadow = 0;
  std::size_t disabled = 0;
  std::size_t scheduled = 0;
  std::size_t rollouts = 0;
  for (const rules::Rule& rule : file.rules) {
    limits += LimitsOf(rule);
    overrides += rule.overrides.size();
    shadow += rule.enabled && rule.shadow ? 1 : 0;
    disabled += rule.enabled ? 0 : 1;
    scheduled += rule.enabled && !rule.schedule.always() ? 1 : 0;
    rollouts += rule.enabled && rule.rollout ? 1 : 0;
  }
  std::string text = Count(file.rules.size(), "rule") + " with " + Count(limits, "limit");
  if (overrides > 0) text += " and " + Count(overrides, "override");
  if (shadow > 0) text += ", " + std::to_string(shadow) + " in shadow";
  if (scheduled > 0) text += ", " + std::to_string(scheduled) + " with a schedule";
  if (rollouts > 0) text += ", " + std::to_string(rollouts) + " rolled out to a share of callers";
  if (disabled > 0) text += ", " + std::to_string(disabled) + " disabled";
  if (!file.tiers.empty()) text += ", " + Count(file.tiers.size(), "tier");
  if (!file.allow.empty()) text += ", " + std::to_string(file.allow.size()) + " on the allow list";
  if (!file.deny.empty()) text += ", " + std::to_string(file.deny.size()) + " on the deny list";
  return text;
}

void PrintAll(const std::vector<config_text::Diagnostic>& errors, const char* what) {
  for (const config_text::Diagnostic& error : errors) {
    std::fprintf(stderr, "%s%s\n", config_text::Describe(error).c_str(), what);
  }
}

void WriteAll(const std::vector<config_text::Diagnostic>& errors, JsonWriter& json) {
  json.BeginArray();
  for (const config_text::Diagnostic& error : errors) {
    json.BeginObject();
    json.Key("line").Int(error.position.line);
    json.Key("column").Int(error.position.column);
    json.Key("field").String(error.field);
    json.Key("message").String(error.message);
    json.EndObject();
  }
  json.EndArray();
}

void PrintText(const std::string& path, const rules::ReadResult& read) {
  PrintAll(read.errors, "");
  PrintAll(read.warnings, " (a warning)");
  if (read.file) {
    std::printf("%s: good: %s\n", path.c_str(), Summary(*read.file).c_str());
  } else {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), Count(read.errors.size(), "error").c_str());
  }
}

void WriteFile(const std::string& path, const rules::ReadResult& read, JsonWriter& json) {
  json.BeginObject();
  json.Key("file").String(path);
  json.Key("good").Bool(read.file.has_value());
  if (read.file) json.Key("summary").String(Summary(*read.file));
  json.Key("errors");
  WriteAll(read.errors, json);
  json.Key("warnings");
  WriteAll(read.warnings, json);
  json.EndObject();
}

}  // namespace

int CheckConfig(const CheckConfigOptions& options) {
  bool good = true;
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kIndented);
  json.BeginArray();
  for (const std::string& path : options.files) {
    rules::ReadResult read = rules::ReadFile(path);
    if (read.file) {
      auto expired = rules::WarnOfExpired(*read.file, TheSystemClock().Now());
      std::move(expired.begin(), expired.end(), std::back_inserter(read.warnings));
    }
    good = good && read.file.has_value();
    if (options.json) {
      WriteFile(path, read, json);
    } else {
      PrintText(path, read);
    }
  }
  json.EndArray();
  if (options.json) std::printf("%s\n", out.c_str());
  return good ? 0 : 1;
}

}  // namespace sluice::app
