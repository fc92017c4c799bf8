#include "rules/rule_limits.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/duration.h"
#include "config_text/suggestion.h"
#include "rules/cost_reader.h"
#include "rules/count_reader.h"
#include "rules/field_names.h"
#include "rules/limit_maker.h"
#include "rules/schedule_reader.h"

namespace sluice::rules {
namespace {

constexpr std::size_t kMaxNameBytes = 128;

// Fields that a rule can't set for all its limits if it has several.
constexpr Quantity kAmounts[] = {Quantity::kLimit, Quantity::kCapacity, Quantity::kRefillRate,
                                 Quantity::kWindow};

bool IsSame(const Limits& a, const Limits& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const NamedLimit& x, const NamedLimit& y) {
        return x.limit == y.limit && x.reject_all == y.reject_all && x.window == y.window &&
               x.cost.max_cost == y.cost.max_cost && x.max_settlement == y.max_settlement;
      });
}

std::string NameOf(const std::string& type, const LimitLevel& level) {
  const QuantityValue& anchor = level[Quantity::kAnchor];
  const QuantityValue& window = level[Quantity::kWindow];
  if (level[Quantity::kAlgorithm].algorithm == Algorithm::kConcurrency) return type + "_in_flight";
  if (anchor && IsCalendar(anchor.anchor)) return type + "_per_" + AnchorName(anchor.anchor);
  return window ? type + "_per_" + DurationName(window.duration) : type;
}

// The level with these quantities only.
LimitLevel Only(const LimitLevel& level, std::initializer_list<Quantity> quantities) {
  LimitLevel only;
  for (const Quantity quantity : quantities) only[quantity] = level[quantity];
  return only;
}

// Combines `params` with the rule's own fields; duplicates are errors.
void Join(config_text::Reading& reading, LimitLevel& level, const LimitLevel& params) {
  for (std::size_t i = 0; i < kQuantities; ++i) {
    if (!params.given[i]) continue;
    if (level.given[i]) {
      reading.AddNameError(params.given[i].field,
                           "stands in the rule itself already, on line " +
                               std::to_string(level.given[i].field.key.line));
    }
  }
  LayOver(level, params);
}

}  // namespace

const NamedLevels* FileLevels::Tier(std::string_view name) const {
  for (const auto& [tier, level] : tiers) {
    if (tier == name) return &level;
  }
  return nullptr;
}

bool FileLevels::Lacks(const std::optional<std::string>& tier) const {
  return tier && !tiers.empty() && Tier(*tier) == nullptr;
}

NamedLevels ReadNamedLevels(const config_text::Mapping& mapping, Level level) {
  config_text::Reading& reading = mapping.reading();
  NamedLevels levels;
  levels.all = ReadLimitLevel(mapping, level);
  if (const config_text::Field limits = mapping["limits"]) {
    for (const config_text::Field& entry :
         reading.Entries(limits, "the names of limits and their numbers")) {
      if (entry->kind == config_text::YamlKind::kScalar) {
        levels.by_name.emplace_back(entry, ReadLimitText(reading, entry, level));
      } else {
        const config_text::Mapping numbers(reading, entry, NumbersFields());
        levels.by_name.emplace_back(entry, ReadLimitLevel(numbers, level));
      }
    }
  }
  return levels;
}

std::optional<Limit> ReadLoneLimit(config_text::Reading& reading, const config_text::Field& field) {
  const std::size_t before = reading.errors();
  LimitLevel level =
      field->kind == config_text::YamlKind::kScalar
          ? ReadLimitText(reading, field, Level::kRule)
          : ReadLimitLevel(config_text::Mapping(reading, field, NumbersFields()), Level::kRule);
  if (level[Quantity::kLimit].is_money) {
    reading.AddError(field, "can't be money; limits that count money have their share of it");
  }
  const MadeLimit made = MakeLimit(reading, level);
  if (reading.errors() > before) return std::nullopt;
  if (made.reject_all) {
    reading.AddError(field, "rejects every call; that is `on_store_failure: closed`");
    return std::nullopt;
  }
  if (!made.limit) reading.AddError(field, made.missing);
  return made.limit;
}

bool RuleLimits::Read(const config_text::Mapping& rule, const config_text::Field& rule_field) {
  const std::size_t before = reading_.errors();
  all_ = ReadLimitLevel(rule, Level::kRule);
  if (const config_text::Field params = rule["params"]) {
    const config_text::Mapping mapping(reading_, params, NumbersFields());
    Join(reading_, all_, ReadLimitLevel(mapping, Level::kRule));
  }
  Spec of_rule{.field = rule_field, .type = std::string(kRequests), .cost = UsualCost(kRequests)};
  ReadCounting(rule, of_rule, all_);

  config_text::Field list = rule["limits"];
  if (const config_text::Field limit = rule["limit"];
      limit && limit->kind == config_text::YamlKind::kSequence) {
    list = rule.Either("limits", "limit");
  }
  if (!list) {
    specs_.push_back(std::move(of_rule));
  } else {
    for (const Quantity quantity : kAmounts) {
      if (!all_[quantity]) continue;
      reading_.AddNameError(all_[quantity].field,
                            "stands beside a list of limits; put it into the list");
    }
    const std::vector<config_text::Field> items = list->kind == config_text::YamlKind::kMapping
                                                      ? reading_.Entries(list, "limits")
                                                      : reading_.Items(list);
    if (items.empty()) reading_.AddError(list, "has no limit in it");
    if (items.size() > kMaxLimitsPerCall) {
      reading_.AddError(list, "has " + std::to_string(items.size()) + " limits; at most " +
                                  std::to_string(kMaxLimitsPerCall) + " can match a call");
    }
    for (const config_text::Field& item : items) ReadItem(item, of_rule);
  }
  for (Spec& spec : specs_) FindMoney(spec);
  return reading_.errors() == before && FindNames();
}

// Reads what a limit counts, where the mapping says it.
void RuleLimits::ReadCounting(const config_text::Mapping& mapping, Spec& spec, LimitLevel& level) {
  if (const config_text::Field field = mapping["type"]) {
    spec.type = reading_.Text(field, "a name").value_or(kRequests);
    spec.has_type = true;
    if (!spec.cost_field && !spec.count_field) spec.cost = UsualCost(spec.type);
  }
  const config_text::Field cost = mapping["cost"];
  const config_text::Field count = mapping["count"];
  if (cost && count) {
    reading_.AddNameError(count, "contradicts `cost` on line " + std::to_string(cost.key.line) +
                                     "; leave one of them out");
  } else if (cost) {
    spec.cost = ReadCost(reading_, cost, level);
    spec.cost_field = cost;
    spec.count_field = {};
    spec.scale = 1;
  } else if (count) {
    ReadCountResult read = ReadCount(reading_, count);
    spec.cost = UsualCost(spec.type);
    spec.cost.count = std::make_shared<const Count>(std::move(read.count));
    spec.scale = read.scale;
    spec.count_field = count;
    spec.cost_field = {};
  }
}

bool RuleLimits::ReadItem(const config_text::Field& item, const Spec& of_rule) {
  Spec& spec = specs_.emplace_back(of_rule);
  spec.field = item;
  spec.name = item.index == config_text::Field::kNoItem ? item.name : std::string_view();
  if (item->kind == config_text::YamlKind::kScalar) {
    spec.own = ReadLimitText(reading_, item, Level::kRule);
    return true;
  }
  const config_text::Mapping mapping(reading_, item, LimitFields());
  if (!mapping.ok()) return false;
  spec.own = ReadLimitLevel(mapping, Level::kRule);
  ReadCounting(mapping, spec, spec.own);
  spec.schedule = ReadSchedule(mapping);
  if (const config_text::Field field = mapping["shadow"]) {
    spec.shadow = reading_.Flag(field).value_or(false);
  }
  if (const config_text::Field field = mapping["name"]) {
    if (!spec.name.empty())
      reading_.AddNameError(field, "the limit has a name: " + config_text::Shown(spec.name));
    spec.name = reading_.Text(field, "a name").value_or("");
  }
  return true;
}

// A limit counts money if its type says so, or its amount.
void RuleLimits::FindMoney(Spec& spec) {
  const bool is_amount = spec.own[Quantity::kLimit].is_money || all_[Quantity::kLimit].is_money;
  if (is_amount && !spec.has_type) spec.type = kMoney;
  if (spec.type != kMoney) return;
  for (const config_text::Field& field : {spec.cost_field, spec.count_field}) {
    if (field) reading_.AddNameError(field, "is of no use to money, which `models` has prices for");
  }
  spec.cost = UsualCost(kMoney);
}

// Money and other units must not be mixed up, at whatever level a number is.
void RuleLimits::CheckMoney(const Spec& spec, LimitLevel& level) {
  const bool is_money = spec.type == kMoney;
  for (const Quantity quantity :
       {Quantity::kLimit, Quantity::kMaxCost, Quantity::kMaxSettlement, Quantity::kCapacity,
        Quantity::kRefillRate, Quantity::kBurstAllowance}) {
    QuantityValue& given = level[quantity];
    if (!given || given.is_money == is_money) continue;
    const bool is_zero = quantity == Quantity::kLimit && given.whole == 0;
    if (is_zero) continue;
    if (given.level < Level::kRule) {  // For other limits.
      given = {};
    } else if (!is_money) {
      reading_.AddError(given.field, "is an amount of money, but the limit " +
                                         config_text::Shown(spec.name) + " counts " +
                                         config_text::Shown(spec.type));
    } else {
      reading_.AddError(given.field, "the limit " + config_text::Shown(spec.name) +
                                         " counts money; write `limit: 50 USD per day`, or an "
                                         "amount such as `5 USD`");
    }
  }
}

// The limit in parts of its unit.
Limit RuleLimits::Scaled(const Spec& spec, const Limit& limit) {
  if (spec.scale == 1) return limit;
  LimitNumbers numbers = limit.numbers();
  if (numbers.algorithm == Algorithm::kConcurrency) {
    reading_.AddError(spec.count_field, "must be whole numbers: slots have no fractions");
    return limit;
  }
  if (numbers.cap <= kMaxAmount / spec.scale && numbers.rate_num <= kMaxAmount / spec.scale) {
    numbers.cap *= spec.scale;
    numbers.rate_num *= spec.scale;
    if (const auto scaled = Limit::FromNumbers(numbers)) return *scaled;
  }
  reading_.AddError(spec.count_field, "counts in parts of 1/" + std::to_string(spec.scale) +
                                          ", and so many don't fit into the limit; use fewer "
                                          "decimals, or a smaller limit");
  return limit;
}

bool RuleLimits::FindNames() {
  std::unordered_map<std::string, int> lines;
  bool ok = true;
  for (Spec& spec : specs_) {
    const bool given = !spec.name.empty();
    if (!given) {
      spec.name = specs_.size() == 1 ? spec.type : NameOf(spec.type, LevelsOf(spec, nullptr, {}));
    }
    if (spec.name.size() > kMaxNameBytes) {
      reading_.AddError(spec.field, "the limit's name is longer than " +
                                        std::to_string(kMaxNameBytes) + " bytes");
      ok = false;
    }
    const auto [first, is_new] = lines.emplace(spec.name, spec.field->position.line);
    if (is_new) continue;
    reading_.AddError(spec.field, "a second limit named " + config_text::Shown(spec.name) +
                                      "; the first is on line " + std::to_string(first->second) +
                                      (given ? "" : "; give each a `name`"));
    ok = false;
  }
  return ok;
}

LimitLevel RuleLimits::LevelsOf(const Spec& spec, const NamedLevels* tier,
                                const Levels& levels) const {
  LimitLevel level;
  const auto lay_over = [&](const NamedLevels& named_levels) {
    LayOver(level, named_levels.all);
    if (const LimitLevel* named = named_levels.Find(spec.name)) LayOver(level, *named);
  };
  lay_over(levels_.defaults);
  if (tier != nullptr) lay_over(*tier);
  LimitLevel own = all_;
  LayOver(own, spec.own);
  if (levels.from != nullptr)
    own = Only(own, {Quantity::kAlgorithm, Quantity::kMaxCost, Quantity::kMaxSettlement});
  LayOver(level, own);
  if (levels.from != nullptr) lay_over(*levels.from);
  if (levels.stronger != nullptr) lay_over(*levels.stronger);
  return level;
}

// If there are several limits, those that `from` does not name are new.
bool RuleLimits::IsAbsent(const Spec& spec, const NamedLevels* from) const {
  return from != nullptr && specs_.size() > 1 && from->Find(spec.name) == nullptr;
}

RuleLimits::Made RuleLimits::MakeFor(const NamedLevels* tier, const Levels& levels) {
  Made made{.limits = Limits()};
  for (const Spec& spec : specs_) {
    const bool is_absent = IsAbsent(spec, levels.from);
    // An absent limit is never asked; it has some numbers because it has a place among the others.
    LimitLevel level = LevelsOf(
        spec, tier, is_absent ? Levels{.from = nullptr, .stronger = levels.stronger} : levels);
    CheckMoney(spec, level);
    MadeLimit limit = MakeLimit(reading_, level);
    if (!limit.limit) {
      made.limits.reset();
      if (made.missing.empty()) made.missing = std::move(limit.missing);
      continue;
    }
    if (!made.limits) continue;
    NamedLimit& named = made.limits->emplace_back(
        NamedLimit{.name = spec.name,
                   .type = spec.type,
                   .limit = limit.reject_all ? *limit.limit : Scaled(spec, *limit.limit),
                   .scale = spec.scale,
                   .reject_all = limit.reject_all,
                   .shadow = spec.shadow,
                   .is_absent = is_absent,
                   .schedule = spec.schedule,
                   .window = limit.window,
                   .cost = spec.cost,
                   .settings = SettingsOf(level)});
    if (level[Quantity::kMaxCost]) named.cost.max_cost = level[Quantity::kMaxCost].whole;
    if (level[Quantity::kMaxSettlement]) {
      named.max_settlement = level[Quantity::kMaxSettlement].whole;
    }
    CheckCost(spec, named);
  }
  return made;
}

void RuleLimits::CheckCost(const Spec& spec, const NamedLimit& limit) {
  if (!spec.cost_field) return;
  const std::int64_t least = spec.cost.constant.value_or(spec.cost.least);
  if (limit.cost.max_cost && least > *limit.cost.max_cost) {
    reading_.AddError(spec.cost_field,
                      "is at least " + std::to_string(least) +
                          ", more than `max_cost` allows: " + std::to_string(*limit.cost.max_cost));
  } else if (!limit.reject_all && least > limit.limit.cap() / limit.scale) {
    reading_.AddError(spec.cost_field,
                      "rejects every call: each takes " + std::to_string(least) + ", and at most " +
                          std::to_string(limit.limit.cap()) +
                          " fit; write `reject_all: true` instead of numbers if that is meant");
  }
}

LimitVariants RuleLimits::Make(const std::optional<std::string>& tier, const Levels& levels,
                               const config_text::Field& place) {
  LimitVariants variants;
  const std::size_t before = reading_.errors();
  Made usual = MakeFor(tier ? levels_.Tier(*tier) : nullptr, levels);
  if (reading_.errors() > before) return variants;
  bool any_tier = false;
  if (!tier) {
    for (const auto& [name, level] : levels_.tiers) {
      if (level.empty()) continue;
      Made made = MakeFor(&level, levels);
      if (made.limits) {
        any_tier = true;
        const bool same = usual.limits && IsSame(*made.limits, *usual.limits);
        if (!same) variants.by_tier.emplace(name, *std::move(made.limits));
      } else if (!made.missing.empty() && (usual.limits || level.all.has_amount())) {
        reading_.AddError(place, "for the tier " + config_text::Shown(name) + ": " + made.missing);
      }
    }
  }
  if (usual.limits) {
    variants.usual = *std::move(usual.limits);
  } else if (!any_tier && reading_.errors() == before && !levels_.Lacks(tier)) {
    reading_.AddError(place, usual.missing);
  }
  return variants;
}

void RuleLimits::CheckOverride(const NamedLevels& override_levels) {
  std::vector<std::string_view> names;
  for (const Spec& spec : specs_) names.push_back(spec.name);
  for (const auto& [field, level] : override_levels.by_name) {
    if (std::find(names.begin(), names.end(), field.name) != names.end()) continue;
    std::string message = "the rule has no such limit";
    const std::string suggestion = config_text::DidYouMean(field.name, names);
    if (!suggestion.empty()) {
      message += suggestion;
    } else {
      message += "; it has ";
      for (std::size_t i = 0; i < names.size(); ++i) {
        message += (i > 0 ? ", " : "") + config_text::Shown(names[i]);
      }
    }
    reading_.AddNameError(field, std::move(message));
  }
  if (specs_.size() == 1) return;
  for (const Quantity quantity : kAmounts) {
    const QuantityValue& given = override_levels.all[quantity];
    if (!given) continue;
    reading_.AddError(given.field, "the rule has several limits; name one, as in `limits: {" +
                                       std::string(names[0]) + ": 10/s}`");
    break;
  }
}

void RuleLimits::CheckFrom(const config_text::Field& from, const NamedLevels& levels) {
  const std::size_t before = reading_.errors();
  CheckOverride(levels);
  if (reading_.errors() > before || specs_.size() == 1 || !levels.by_name.empty()) return;
  reading_.AddError(from,
                    "the rule has several limits; name those that other callers have, as in "
                    "`limits: {" +
                        specs_.front().name + ": 10/s}`");
}

}  // namespace sluice::rules
