#include "rules/rule_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "config_text/mapping.h"
#include "config_text/suggestion.h"
#include "rules/denial_reader.h"
#include "rules/field_names.h"
#include "rules/match_reader.h"
#include "rules/pattern_reader.h"
#include "rules/penalty_reader.h"
#include "rules/per_reader.h"
#include "rules/rollout_reader.h"
#include "rules/schedule_reader.h"

namespace sluice::rules {
namespace {

constexpr std::int64_t kMaxOrder = 1'000'000'000;
constexpr std::size_t kMaxIdBytes = 256;

constexpr std::array<std::pair<std::string_view, OnMissing>, 3> kOnMissing = {{
    {"skip", OnMissing::kSkip},
    {"deny", OnMissing::kDeny},
    {"shared", OnMissing::kShared},
}};

constexpr std::array<std::pair<std::string_view, Priority>, 2> kPriorities = {{
    {"standard", Priority::kStandard},
    {"strict", Priority::kStrict},
}};

class RuleReader {
 public:
  RuleReader(config_text::Reading& reading, const config_text::Field& field,
             const RuleDefaults& defaults)
      : reading_(reading),
        defaults_(defaults),
        mapping_(reading, field, RuleFields()),
        limits_(reading, defaults.levels) {
    read_.field = field;
    rule_.position = field->position;
  }

  ReadRule Read(std::size_t errors_before) {
    if (!mapping_.ok()) return std::move(read_);
    ReadIdentity();
    ReadFlags();
    ReadConditions();
    rule_.per = ReadPer(mapping_, read_.per_fields);
    rule_.hash_tag = ReadHashTag(mapping_, rule_.per);
    ReadOnMissing();
    ReadFailure();
    rule_.denial = defaults_.denial;
    if (const config_text::Field denial = mapping_["denial"])
      rule_.denial = ReadDenial(reading_, denial);
    ReadRulePenalty();
    limits_ok_ = limits_.Read(mapping_, read_.field);
    if (limits_ok_) rule_.variants = limits_.Make(rule_.tier, {}, read_.field);
    rule_.schedule = ReadSchedule(mapping_);
    ReadRolloutNumbers();
    ReadOverrides();
    read_.complete = reading_.errors() == errors_before;
    return std::move(read_);
  }

 private:
  void ReadIdentity() {
    read_.id = mapping_.Either("id", "name");
    if (!read_.id) {
      reading_.AddError(read_.field, "needs an `id`, which its keys are counted under");
    } else if (const auto id = reading_.Text(read_.id, "a name")) {
      rule_.id = *id;
      if (id->size() > kMaxIdBytes) {
        reading_.AddError(read_.id, "is longer than " + std::to_string(kMaxIdBytes) + " bytes");
      }
    }
    if (const config_text::Field version = mapping_["version"]) {
      constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
      rule_.version = reading_.Whole(version, 0, kMax).value_or(0);
    }
    if (const config_text::Field description = mapping_["description"]) {
      rule_.description = reading_.Text(description, "a text").value_or("");
    }
    if (const config_text::Field order = mapping_["order"]) {
      read_.order = reading_.Whole(order, -kMaxOrder, kMaxOrder).value_or(0);
    }
  }

  void ReadFlag(std::string_view name, bool& flag) {
    if (const config_text::Field field = mapping_[name]) flag = reading_.Flag(field).value_or(flag);
  }

  void ReadFlags() {
    rule_.headers = defaults_.headers.value_or(true);
    ReadFlag("enabled", rule_.enabled);
    ReadFlag("final", rule_.final);
    ReadFlag("shadow", rule_.shadow);
    ReadFlag("headers", rule_.headers);
  }

  void ReadConditions() {
    config_text::Field tier = mapping_["tier"];
    std::vector<Condition> tiers;
    if (tier) tiers.push_back(ReadTiers(reading_, tier));
    if (const config_text::Field match = mapping_["match"]) {
      for (Condition& condition : ReadMatch(reading_, match, defaults_.attributes)) {
        const bool is_tier = condition.attribute == "tier";
        if (is_tier && tier) {
          reading_.AddErrorAt(
              condition.position, reading_.PathOf(match),
              "`tier` stands in the rule itself already, on line " + std::to_string(tier.key.line));
        }
        (is_tier ? tiers : rule_.match).push_back(std::move(condition));
      }
      if (!tier && !tiers.empty()) {
        tier = Mentioned(match, "tier");
      }
    }
    for (Condition& condition : tiers) {
      const bool one = condition.any_of.size() == 1 &&
                       condition.any_of[0].kind == PatternKind::kExact && tiers.size() == 1;
      if (one) {
        rule_.tier = condition.any_of[0].text;
      } else {
        rule_.match.push_back(std::move(condition));
      }
    }
    if (tier) NameTiers(tier);
  }

  // The field of `mapping` with this name, which is there.
  config_text::Field Mentioned(const config_text::Field& mapping, std::string_view name) {
    const config_text::FieldPath* path = reading_.PathOf(mapping);
    for (std::size_t i = 0; i + 1 < mapping->children.size(); i += 2) {
      if (mapping->children[i]->text != name) continue;
      return {.node = mapping->children[i + 1],
              .parent = path,
              .name = name,
              .key = mapping->children[i]->position};
    }
    return {};
  }

  void NameTiers(const config_text::Field& tier) {
    if (tier->kind == config_text::YamlKind::kMapping) return;
    for (const config_text::Field& item : reading_.Items(tier)) {
      const bool is_name = item->kind == config_text::YamlKind::kScalar &&
                           item->text.find_first_of("*?") == std::string_view::npos;
      if (is_name) read_.tier_names.push_back(item);
    }
  }

  void ReadOnMissing() {
    const config_text::Field field = mapping_["on_missing"];
    if (!field) return;
    rule_.on_missing = reading_.Choice<OnMissing>(field, kOnMissing);
    if (rule_.per && rule_.per->empty()) {
      reading_.AddNameError(field, "is of no use: with `per: []` no attribute can be missing");
    }
  }

  void ReadFailure() {
    if (const config_text::Field field = mapping_["priority"]) {
      rule_.priority = reading_.Choice<Priority>(field, kPriorities).value_or(rule_.priority);
    }
    const bool strict = rule_.priority == Priority::kStrict;
    rule_.consistency = defaults_.consistency.value_or(Consistency::kExact);
    if (const config_text::Field field = mapping_["consistency"]) {
      rule_.consistency = ReadConsistency(reading_, field).value_or(rule_.consistency);
      if (strict && rule_.consistency == Consistency::kLeased) {
        reading_.AddError(field,
                          "contradicts `priority: strict`, which never leases; leave one of "
                          "them out");
      }
    }
    if (strict) rule_.consistency = Consistency::kExact;

    rule_.on_store_failure = strict ? OnStoreFailure::kLocal
                                    : defaults_.on_store_failure.value_or(OnStoreFailure::kOpen);
    if (const config_text::Field field = mapping_["on_store_failure"]) {
      rule_.on_store_failure = ReadOnStoreFailure(reading_, field).value_or(rule_.on_store_failure);
    }
    rule_.when_full = defaults_.when_full.value_or(rule_.when_full);
    if (const config_text::Field field = mapping_["when_full"]) {
      rule_.when_full = ReadWhenFull(reading_, field).value_or(rule_.when_full);
    }
    const bool local = rule_.on_store_failure == OnStoreFailure::kLocal;
    if (const config_text::Field field = mapping_["emergency_limit"]) {
      rule_.emergency = ReadLoneLimit(reading_, field);
      if (!local) {
        reading_.AddNameError(field, "is of no use without `on_store_failure: local`");
      }
    } else if (local) {
      rule_.emergency = defaults_.emergency;
    }
  }

  // A penalty of `defaults` is for the rules that it fits.
  void ReadRulePenalty() {
    const config_text::Field field = mapping_["penalty"];
    const bool is_off =
        field && field->kind == config_text::YamlKind::kScalar && field->text == "none";
    if (is_off) return;
    const bool identifies = IdentifiesCallers(rule_.per);
    if (!field) {
      const bool fits =
          defaults_.penalty && (identifies || defaults_.penalty->scope != PenaltyScope::kRule);
      if (fits) rule_.penalty = defaults_.penalty;
      return;
    }
    rule_.penalty = ReadPenalty(reading_, field);
    if (!rule_.penalty || identifies || rule_.penalty->scope != PenaltyScope::kRule) return;
    reading_.AddNameError(field,
                          "would concern all callers of the rule, because its `per` does not tell "
                          "them apart; write `scope: caller` or `scope: network`");
  }

  void ReadRolloutNumbers() {
    const config_text::Field field = mapping_["rollout"];
    if (!field) return;
    rollout_ = ReadRollout(reading_, field, rule_.per);
    if (!rollout_ || !limits_ok_) return;
    if (rollout_->from) {
      const std::size_t before = reading_.errors();
      limits_.CheckFrom(rollout_->from, rollout_->levels);
      if (reading_.errors() > before) return;
      LimitVariants& from = rollout_->rollout.from;
      from = limits_.Make(rule_.tier, {.from = &rollout_->levels}, rollout_->from);
      CheckSameAlgorithms(reading_, rollout_->from, rule_.variants, from);
    }
    rule_.rollout = std::move(rollout_->rollout);
  }

  void ReadOverrides() {
    const config_text::Field field = mapping_.Either("override", "overrides");
    if (!field) return;
    const auto entries =
        reading_.Entries(field, "values of what the budget is per, and their numbers");
    if (rule_.per && rule_.per->empty() && !entries.empty()) {
      reading_.AddNameError(field,
                            "can never match: with `per: []` there is one budget for all calls");
      return;
    }
    for (const config_text::Field& entry : entries) ReadOverride(entry);
  }

  void ReadOverride(const config_text::Field& entry) {
    const config_text::YamlNode whose{
        .kind = config_text::YamlKind::kScalar, .position = entry.key, .text = entry.name};
    config_text::Field name = entry;
    name.node = &whose;
    const bool by_host = rule_.per && rule_.per->front() == "host";
    auto pattern = by_host ? ReadHost(reading_, name) : ReadValue(reading_, name);
    const std::size_t before = reading_.errors();
    NamedLevels levels;
    if (entry->kind == config_text::YamlKind::kScalar) {
      levels.all = ReadLimitText(reading_, entry, Level::kOverride);
    } else {
      const config_text::Mapping mapping(reading_, entry, OverrideFields());
      if (mapping.ok()) levels = ReadNamedLevels(mapping, Level::kOverride);
    }
    if (reading_.errors() > before) return;
    if (levels.empty()) {
      reading_.AddError(entry, "sets nothing; expected numbers such as `capacity: 1000`");
      return;
    }
    if (!limits_ok_) return;
    limits_.CheckOverride(levels);
    if (reading_.errors() > before) return;
    LimitVariants variants = limits_.Make(rule_.tier, {.stronger = &levels}, entry);
    LimitVariants from;
    if (rule_.rollout && rule_.rollout->has_from) {
      from = limits_.Make(rule_.tier, {.from = &rollout_->levels, .stronger = &levels}, entry);
      CheckSameAlgorithms(reading_, entry, variants, from);
    }
    if (!pattern) return;
    rule_.overrides.push_back({*std::move(pattern), std::move(variants), std::move(from)});
    read_.override_fields.push_back(entry);
  }

  config_text::Reading& reading_;
  const RuleDefaults& defaults_;
  config_text::Mapping mapping_;
  RuleLimits limits_;
  bool limits_ok_ = false;
  std::optional<RolloutSpec> rollout_;
  ReadRule read_;
  Rule& rule_ = read_.rule;
};

}  // namespace

ReadRule ReadOneRule(config_text::Reading& reading, const config_text::Field& field,
                     const RuleDefaults& defaults) {
  const std::size_t before = reading.errors();
  return RuleReader(reading, field, defaults).Read(before);
}

std::optional<Consistency> ReadConsistency(config_text::Reading& reading,
                                           const config_text::Field& field) {
  static constexpr std::array<std::pair<std::string_view, Consistency>, 2> kWords = {{
      {"exact", Consistency::kExact},
      {"leased", Consistency::kLeased},
  }};
  return reading.Choice<Consistency>(field, kWords);
}

std::optional<OnStoreFailure> ReadOnStoreFailure(config_text::Reading& reading,
                                                 const config_text::Field& field) {
  static constexpr std::array<std::pair<std::string_view, OnStoreFailure>, 3> kWords = {{
      {"open", OnStoreFailure::kOpen},
      {"closed", OnStoreFailure::kClosed},
      {"local", OnStoreFailure::kLocal},
  }};
  return reading.Choice<OnStoreFailure>(field, kWords);
}

std::optional<WhenFull> ReadWhenFull(config_text::Reading& reading,
                                     const config_text::Field& field) {
  static constexpr std::array<std::pair<std::string_view, WhenFull>, 3> kWords = {{
      {"open", WhenFull::kOpen},
      {"closed", WhenFull::kClosed},
      {"shared", WhenFull::kShared},
  }};
  return reading.Choice<WhenFull>(field, kWords);
}

}  // namespace sluice::rules
