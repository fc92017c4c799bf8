#include "rules/rollout_reader.h"

#include <algorithm>
#include <cstdint>

#include "base/decimal.h"
#include "config_text/mapping.h"
#include "config_text/suggestion.h"
#include "rules/field_names.h"
#include "rules/rule_limits.h"

namespace sluice::rules {
namespace {

// A percentage with at most two decimals, in hundredths.
std::optional<std::uint32_t> ParsePercent(std::string_view text) {
  const auto decimal = ParseDecimal(text);
  if (!decimal || decimal->digits < 0) return std::nullopt;
  std::int64_t digits = decimal->digits;
  int scale = decimal->scale;
  for (; scale > 2; --scale, digits /= 10) {
    if (digits % 10 != 0) return std::nullopt;
  }
  for (; scale < 2; ++scale, digits *= 10) {
    if (digits > Rollout::kWhole) return std::nullopt;
  }
  if (digits > Rollout::kWhole) return std::nullopt;
  return static_cast<std::uint32_t>(digits);
}

void ReadShare(config_text::Reading& reading, const config_text::Field& rollout,
               const config_text::Field& percent, std::uint32_t& share) {
  if (!percent) {
    reading.AddError(rollout, "needs a `percent`: the share of callers that get the new numbers");
    return;
  }
  const auto hundredths = percent->kind == config_text::YamlKind::kScalar
                              ? ParsePercent(percent->text)
                              : std::optional<std::uint32_t>();
  if (hundredths) {
    share = *hundredths;
  } else {
    reading.AddError(percent, "expected a number from 0 to 100 with at most two decimals, found " +
                                  config_text::Found(*percent.node));
  }
}

void ReadBy(config_text::Reading& reading, const config_text::Field& rollout,
            const config_text::Field& field, const std::optional<std::vector<std::string>>& per,
            std::string& by) {
  if (per && per->empty()) {
    reading.AddNameError(
        rollout, "can't tell callers apart: with `per: []` there is one budget for all calls");
    return;
  }
  if (!field) {
    if (per) by = per->front();
    return;
  }
  const auto name = reading.Text(field, "an attribute of `per`");
  if (!name) return;
  if (!per) {
    reading.AddError(field,
                     "must be an attribute of `per`, which the rule does not have; leave `by` "
                     "out to tell callers apart by client, or write `per: [" +
                         std::string(*name) + "]`");
  } else if (std::find(per->begin(), per->end(), *name) == per->end()) {
    std::string names;
    for (const std::string& each : *per) {
      names += (names.empty() ? "" : ", ") + config_text::Shown(each);
    }
    reading.AddError(field, "must be an attribute of `per` (" + names + "), found " +
                                config_text::Shown(*name) +
                                ": else one budget would have two sets of numbers");
  }
  by = *name;
}

void ReadFrom(config_text::Reading& reading, const config_text::Field& from, NamedLevels& levels) {
  if (from->kind == config_text::YamlKind::kScalar) {
    levels.all = ReadLimitText(reading, from, Level::kRule);
    return;
  }
  const config_text::Mapping mapping(reading, from, FromFields());
  if (mapping.ok()) levels = ReadNamedLevels(mapping, Level::kRule);
}

const Limits& LimitsOf(const LimitVariants& variants, const std::string& tier) {
  const auto found = variants.by_tier.find(tier);
  return found == variants.by_tier.end() ? variants.usual : found->second;
}

}  // namespace

std::optional<RolloutSpec> ReadRollout(config_text::Reading& reading,
                                       const config_text::Field& field,
                                       const std::optional<std::vector<std::string>>& per) {
  const std::size_t before = reading.errors();
  const config_text::Mapping mapping(reading, field, RolloutFields());
  if (!mapping.ok()) return std::nullopt;
  RolloutSpec spec;
  spec.rollout.position = field->position;
  ReadShare(reading, field, mapping["percent"], spec.rollout.share);
  ReadBy(reading, field, mapping["by"], per, spec.rollout.by);
  spec.from = mapping["from"];
  if (spec.from) {
    spec.rollout.has_from = true;
    ReadFrom(reading, spec.from, spec.levels);
  }
  if (reading.errors() > before) return std::nullopt;
  return spec;
}

void CheckSameAlgorithms(config_text::Reading& reading, const config_text::Field& from,
                         const LimitVariants& variants, const LimitVariants& from_variants) {
  std::vector<std::string> tiers(1);
  for (const auto& [tier, limits] : variants.by_tier) tiers.push_back(tier);
  for (const auto& [tier, limits] : from_variants.by_tier) tiers.push_back(tier);
  for (const std::string& tier : tiers) {
    const Limits& limits = LimitsOf(variants, tier);
    const Limits& others = LimitsOf(from_variants, tier);
    for (std::size_t i = 0; i < std::min(limits.size(), others.size()); ++i) {
      const NamedLimit& limit = limits[i];
      const NamedLimit& other = others[i];
      const bool comparable = !limit.reject_all && !other.reject_all && !other.is_absent;
      if (!comparable || limit.limit.algorithm() == other.limit.algorithm()) continue;
      reading.AddError(from,
                       "the limit " + config_text::Shown(limit.name) + " is a " +
                           AlgorithmName(other.limit.algorithm()) + " here and a " +
                           AlgorithmName(limit.limit.algorithm()) +
                           " in the rule; a rollout can't change the algorithm, because callers "
                           "keep what they have left: make a rule with another `id` instead");
      return;
    }
  }
}

}  // namespace sluice::rules
