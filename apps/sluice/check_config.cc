#include "check_config.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/json_writer.h"
#include "rules/reader.h"

namespace sluice::app {
namespace {

std::string Count(std::size_t count, std::string_view what) {
  std::string text = std::to_string(count) + ' ' + std::string(what);
  return count == 1 ? text : text + 's';
}

// Of a rule for its usual callers; where only tiers have numbers, of one of them.
std::size_t LimitsOf(const rules::Rule& rule) {
  const rules::Variants& variants = rule.variants;
  if (!variants.usual.empty() || variants.by_tier.empty()) return variants.usual.size();
  return variants.by_tier.begin()->second.size();
}

std::string Summary(const rules::RuleFile& file) {
  std::size_t limits = 0;
  std::size_t overrides = 0;
  std::size_t shadow = 0;
  std::size_t disabled = 0;
  for (const rules::Rule& rule : file.rules) {
    limits += LimitsOf(rule);
    overrides += rule.overrides.size();
    shadow += rule.enabled && rule.shadow ? 1 : 0;
    disabled += rule.enabled ? 0 : 1;
  }
  std::string text = Count(file.rules.size(), "rule") + " with " + Count(limits, "limit");
  if (overrides > 0) text += " and " + Count(overrides, "override");
  if (shadow > 0) text += ", " + std::to_string(shadow) + " in shadow";
  if (disabled > 0) text += ", " + std::to_string(disabled) + " disabled";
  if (!file.tiers.empty()) text += ", " + Count(file.tiers.size(), "tier");
  if (!file.allow.empty()) text += ", " + std::to_string(file.allow.size()) + " on the allow list";
  if (!file.deny.empty()) text += ", " + std::to_string(file.deny.size()) + " on the deny list";
  return text;
}

void PrintAll(const std::vector<rules::Mistake>& mistakes, const char* what) {
  for (const rules::Mistake& mistake : mistakes) {
    std::fprintf(stderr, "%s%s\n", rules::Describe(mistake).c_str(), what);
  }
}

void WriteAll(const std::vector<rules::Mistake>& mistakes, JsonWriter& json) {
  json.BeginArray();
  for (const rules::Mistake& mistake : mistakes) {
    json.BeginObject();
    json.Key("line").Int(mistake.position.line);
    json.Key("column").Int(mistake.position.column);
    json.Key("field").String(mistake.field);
    json.Key("message").String(mistake.message);
    json.EndObject();
  }
  json.EndArray();
}

void PrintText(const std::string& path, const rules::ReadResult& read) {
  PrintAll(read.mistakes, "");
  PrintAll(read.warnings, " (a warning)");
  if (read.file) {
    std::printf("%s: good: %s\n", path.c_str(), Summary(*read.file).c_str());
  } else {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), Count(read.mistakes.size(), "mistake").c_str());
  }
}

void WriteFile(const std::string& path, const rules::ReadResult& read, JsonWriter& json) {
  json.BeginObject();
  json.Key("file").String(path);
  json.Key("good").Bool(read.file.has_value());
  if (read.file) json.Key("summary").String(Summary(*read.file));
  json.Key("mistakes");
  WriteAll(read.mistakes, json);
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
    const rules::ReadResult read = rules::ReadFile(path);
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
