#include "rules/schedule_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "base/timestamp.h"
#include "config_text/suggestion.h"

namespace sluice::rules {
namespace {

std::optional<WallTime> ReadTime(config_text::Reading& reading, const config_text::Field& field) {
  const auto time = field->kind == config_text::YamlKind::kScalar ? ParseTimestamp(field->text)
                                                                  : std::optional<WallTime>();
  if (!time) {
    reading.AddError(field, "expected a time with its zone, such as 2026-12-01T00:00:00Z, found " +
                                config_text::Found(*field.node));
  }
  return time;
}

}  // namespace

Schedule ReadSchedule(const config_text::Mapping& mapping) {
  config_text::Reading& reading = mapping.reading();
  Schedule schedule;
  const config_text::Field start = mapping["starts_at"];
  const config_text::Field expiry = mapping["expires_at"];
  const auto starts_at = start ? ReadTime(reading, start) : std::nullopt;
  const auto expires_at = expiry ? ReadTime(reading, expiry) : std::nullopt;
  if (starts_at) schedule.starts_at = *starts_at;
  if (expires_at) {
    schedule.expires_at = *expires_at;
    schedule.expiry_position = expiry->position;
  }
  if (starts_at && expires_at && *starts_at >= *expires_at) {
    reading.AddError(expiry, "must be after `starts_at`, " + config_text::Shown(start->text) +
                                 ", found " + config_text::Shown(expiry->text));
  }
  return schedule;
}

std::vector<config_text::Diagnostic> WarnOfExpired(const RuleFile& file, WallTime now) {
  std::vector<config_text::Diagnostic> warnings;
  const auto warn = [&](const Schedule& schedule, std::string name) {
    warnings.push_back({file.name,
                        schedule.expiry_position,
                        {},
                        std::move(name) + " has expired: it applies to no call since " +
                            FormatTimestamp(schedule.expires_at)});
  };
  for (const Rule& rule : file.rules) {
    if (!rule.enabled) continue;
    const std::string name = "the rule " + config_text::Shown(rule.id);
    if (rule.schedule.expires_at <= now) {
      warn(rule.schedule, name);
      continue;
    }
    const LimitVariants& variants = rule.variants;
    const Limits* limits = &variants.usual;
    if (limits->empty() && !variants.by_tier.empty()) limits = &variants.by_tier.begin()->second;
    for (const NamedLimit& limit : *limits) {
      if (limit.schedule.expires_at > now) continue;
      warn(limit.schedule, "the limit " + config_text::Shown(limit.name) + " of " + name);
    }
  }
  return warnings;
}

}  // namespace sluice::rules
