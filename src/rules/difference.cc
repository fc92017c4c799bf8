#include "rules/difference.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/duration.h"
#include "base/timestamp.h"
#include "rules/limit_effect.h"
#include "rules/limit_text.h"
#include "rules/rollout_text.h"

namespace sluice::rules {
namespace {

/// Rows about the entries of one list: more are counted, not listed.
// Prices are shown in USD per million units.
constexpr std::int64_t kNanosPerMillionth = 1000;
constexpr std::size_t kMaxEntryRows = 100;
/// Longer values are shortened.
constexpr std::size_t kMaxValueBytes = 400;

std::string Shortened(std::string text) {
  if (text.size() <= kMaxValueBytes) return text;
  std::size_t size = kMaxValueBytes;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  text.resize(size);
  return text + "…";
}

ChangeEffect Reversed(ChangeEffect effect) {
  switch (effect) {
    case ChangeEffect::kTightens:
      return ChangeEffect::kLoosens;
    case ChangeEffect::kLoosens:
      return ChangeEffect::kTightens;
    case ChangeEffect::kNew:
      return ChangeEffect::kGone;
    case ChangeEffect::kGone:
      return ChangeEffect::kNew;
    case ChangeEffect::kChanges:
      break;
  }
  return ChangeEffect::kChanges;
}

std::string TextOf(bool value) { return value ? "true" : "false"; }

std::string TextOf(const Pattern& pattern) {
  static constexpr std::array<std::string_view, 4> kKinds{"", "glob ", "regex ", "network "};
  return std::string(kKinds[static_cast<std::size_t>(pattern.kind)]) + pattern.text;
}

std::string TextOf(const std::vector<Condition>& match) {
  std::string text;
  for (const Condition& condition : match) {
    text += (text.empty() ? "" : "; ") + condition.attribute + ": ";
    if (condition.presence != Presence::kAny) {
      text += condition.presence == Presence::kPresent ? "present" : "absent";
    }
    bool is_first = true;
    for (const Pattern& pattern : condition.any_of) {
      text += (is_first ? "" : ", ") + TextOf(pattern);
      is_first = false;
    }
  }
  return text;
}

std::string TextOf(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() == 1 ? "" : ", ") + name;
  return text + "]";
}

std::string TextOf(const Cost& cost) {
  if (cost.constant) return std::to_string(*cost.constant);
  std::string text = cost.attribute.empty() ? "the call's" : "attribute " + cost.attribute;
  if (cost.least != 1) text += ", at least " + std::to_string(cost.least);
  return text;
}

std::string TextOf(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : std::string();
}

std::string TextOf(const std::optional<Denial>& denial) {
  if (!denial) return {};
  std::string text = "status " + std::to_string(denial->status);
  if (denial->body) text += ", " + denial->content_type + ", body " + *denial->body;
  for (const auto& [name, value] : denial->headers) text += ", " + name + ": " + value;
  return text;
}

std::string TextOf(const std::optional<Penalty>& penalty) {
  if (!penalty) return {};
  std::string text = "after";
  if (penalty->denials > 0) text += " " + std::to_string(penalty->denials) + " denials";
  if (penalty->ignored_backoff > 0) {
    text += std::string(penalty->denials > 0 ? " or" : "") + " " +
            std::to_string(penalty->ignored_backoff) + " ignored backoffs";
  }
  text += " within " + FormatDuration(penalty->within) + ":";
  for (const Micros step : penalty->steps) text += " " + FormatDuration(step);
  constexpr std::array<std::string_view, 3> kPenaltyScopes{"rule", "caller", "network"};
  text += ", scope " + std::string(kPenaltyScopes[static_cast<std::size_t>(penalty->scope)]);
  text += ", forget " + FormatDuration(penalty->forget);
  if (penalty->jitter > 0) text += ", jitter " + std::to_string(penalty->jitter) + "/10000";
  if (penalty->factor) {
    text += ", multiply " + std::to_string(penalty->factor->digits) + "/" +
            std::to_string(PowerOfTen(penalty->factor->scale));
  } else {
    text += ", status " + std::to_string(penalty->status);
  }
  return text + (penalty->shadow ? ", shadow" : "");
}

std::string_view TextOf(OnStoreFailure mode) {
  static constexpr std::array<std::string_view, 3> kNames{"open", "closed", "local"};
  return kNames[static_cast<std::size_t>(mode)];
}

std::string_view TextOf(WhenFull mode) {
  static constexpr std::array<std::string_view, 3> kNames{"open", "closed", "shared"};
  return kNames[static_cast<std::size_t>(mode)];
}

std::string_view TextOf(const std::optional<OnMissing>& mode) {
  static constexpr std::array<std::string_view, 3> kNames{"skip", "deny", "shared"};
  return kNames[static_cast<std::size_t>(mode.value_or(OnMissing::kSkip))];
}

std::string TextOf(WallTime time) {
  const bool is_bound = time != WallTime::min() && time != WallTime::max();
  return is_bound ? FormatTimestamp(time) : std::string();
}

std::string PercentOf(const std::optional<Rollout>& rollout) {
  return rollout ? PercentText(rollout->share) : std::string();
}

// The limits that a caller has.
LimitVariants Present(LimitVariants variants) {
  const auto is_absent = [](const NamedLimit& limit) { return limit.is_absent; };
  std::erase_if(variants.usual, is_absent);
  for (auto& [tier, limits] : variants.by_tier) std::erase_if(limits, is_absent);
  return variants;
}

std::string TextOf(const NamedLimit& limit) {
  return limit.reject_all ? "rejects all" : LimitText(limit, limit.limit.numbers());
}

std::string TextOf(const Limits& limits) {
  std::string text;
  for (const NamedLimit& limit : limits) {
    text += (text.empty() ? "" : "; ") + limit.name + ": " + TextOf(limit);
  }
  return text;
}

// The limits of a new or removed rule, for people.
std::string SummaryOf(const Rule& rule) {
  std::string text = TextOf(rule.variants.usual);
  for (const auto& [tier, limits] : rule.variants.by_tier) {
    text += (text.empty() ? "" : "; ") + ("tier " + tier) + ": " + TextOf(limits);
  }
  return text;
}

class Comparison {
 public:
  Comparison(const RuleFile& before, const RuleFile& after) : before_(before), after_(after) {}

  std::vector<DifferenceRow> Compare() {
    CompareFile();
    std::unordered_map<std::string_view, const Rule*> old;
    for (const Rule& rule : before_.rules) old.emplace(rule.id, &rule);
    std::set<std::string_view> kept;
    for (const Rule& rule : after_.rules) {
      const auto found = old.find(rule.id);
      rule_ = rule.id;
      if (found == old.end()) {
        Add("rule", {}, SummaryOf(rule), ChangeEffect::kNew);
      } else {
        kept.insert(rule.id);
        CompareRule(*found->second, rule);
      }
    }
    for (const Rule& rule : before_.rules) {
      rule_ = rule.id;
      if (!kept.contains(rule.id)) Add("rule", SummaryOf(rule), {}, ChangeEffect::kGone);
    }
    return std::move(rows_);
  }

 private:
  void Add(std::string field, std::string from, std::string to, ChangeEffect effect) {
    rows_.push_back({.rule = rule_,
                     .field = std::move(field),
                     .from = Shortened(std::move(from)),
                     .to = Shortened(std::move(to)),
                     .effect = effect});
  }

  void Field(std::string field, std::string_view from, std::string_view to,
             ChangeEffect effect = ChangeEffect::kChanges) {
    if (from != to) Add(std::move(field), std::string(from), std::string(to), effect);
  }

  /// `when_set`: the effect of false that becomes true.
  void Flag(std::string field, bool from, bool to, ChangeEffect when_set) {
    Field(std::move(field), TextOf(from), TextOf(to), to ? when_set : Reversed(when_set));
  }

  /// `when_added`: the effect of an entry that is new.
  template <typename Entry>
  void CompareList(const std::string& field, const std::vector<Entry>& before,
                   const std::vector<Entry>& after, ChangeEffect when_added,
                   const std::function<std::string(const Entry&)>& text_of) {
    std::multiset<std::string> old;
    std::multiset<std::string> fresh;
    for (const Entry& entry : before) old.insert(text_of(entry));
    for (const Entry& entry : after) fresh.insert(text_of(entry));
    std::vector<std::string> gone;
    std::vector<std::string> added;
    std::set_difference(old.begin(), old.end(), fresh.begin(), fresh.end(),
                        std::back_inserter(gone));
    std::set_difference(fresh.begin(), fresh.end(), old.begin(), old.end(),
                        std::back_inserter(added));
    if (gone.empty() && added.empty() && !before.empty()) {
      const auto same = [&](const Entry& a, const Entry& b) { return text_of(a) == text_of(b); };
      if (!std::equal(before.begin(), before.end(), after.begin(), same)) {
        Add(field, "in another order", "in another order", ChangeEffect::kChanges);
      }
    }
    for (std::size_t i = 0; i < std::min(added.size(), kMaxEntryRows); ++i) {
      Add(field, {}, added[i], when_added);
    }
    if (added.size() > kMaxEntryRows) {
      Add(field, {}, std::to_string(added.size() - kMaxEntryRows) + " more", when_added);
    }
    for (std::size_t i = 0; i < std::min(gone.size(), kMaxEntryRows); ++i) {
      Add(field, gone[i], {}, Reversed(when_added));
    }
    if (gone.size() > kMaxEntryRows) {
      Add(field, std::to_string(gone.size() - kMaxEntryRows) + " more", {}, Reversed(when_added));
    }
  }

  void CompareFile() {
    const auto name = [](DefaultAction value) {
      return value == DefaultAction::kDeny ? "deny" : "allow";
    };
    Field("default", name(before_.otherwise), name(after_.otherwise),
          after_.otherwise == DefaultAction::kDeny ? ChangeEffect::kTightens
                                                   : ChangeEffect::kLoosens);
    Field("default_tier", before_.default_tier, after_.default_tier);
    const std::function<std::string(const Pattern&)> pattern = [](const Pattern& entry) {
      return TextOf(entry);
    };
    const std::function<std::string(const std::string&)> text = [](const std::string& entry) {
      return entry;
    };
    const std::function<std::string(const KeyTier&)> key = [](const KeyTier& entry) {
      return TextOf(entry.key) + ": " + entry.tier;
    };
    CompareList<std::string>("tiers", before_.tiers, after_.tiers, ChangeEffect::kNew, text);
    CompareList<KeyTier>("keys", before_.keys, after_.keys, ChangeEffect::kNew, key);
    CompareList<Pattern>("known_keys", before_.known_keys, after_.known_keys, ChangeEffect::kNew,
                         pattern);
    CompareList<Pattern>("deny", before_.deny, after_.deny, ChangeEffect::kTightens, pattern);
    CompareList<Pattern>("allow", before_.allow, after_.allow, ChangeEffect::kLoosens, pattern);
    CompareList<std::string>("endpoints", before_.endpoints, after_.endpoints, ChangeEffect::kNew,
                             text);
    const std::function<std::string(const ModelPrice&)> price = [](const ModelPrice& entry) {
      return TextOf(entry.model) + ": " + TextOf(entry.price, kNanosPerMillionth);
    };
    CompareList<ModelPrice>("models", before_.models, after_.models, ChangeEffect::kNew, price);
    CompareOrder();
  }

  void CompareOrder() {
    const auto ids = [](const RuleFile& file, const RuleFile& other) {
      std::set<std::string_view> known;
      for (const Rule& rule : other.rules) known.insert(rule.id);
      std::vector<std::string> common;
      for (const Rule& rule : file.rules) {
        if (known.contains(rule.id)) common.push_back(rule.id);
      }
      return TextOf(common);
    };
    Field("order", ids(before_, after_), ids(after_, before_));
  }

  void CompareRule(const Rule& before, const Rule& after) {
    // Calls that no rule matches may be denied, and a final rule keeps others from its calls.
    const bool plain = !before.final && !after.final &&
                       before_.otherwise == DefaultAction::kAllow &&
                       after_.otherwise == DefaultAction::kAllow;
    Flag("enabled", before.enabled, after.enabled,
         plain ? ChangeEffect::kTightens : ChangeEffect::kChanges);
    Flag("shadow", before.shadow, after.shadow, ChangeEffect::kLoosens);
    Flag("final", before.final, after.final, ChangeEffect::kChanges);
    Flag("headers", before.headers, after.headers, ChangeEffect::kChanges);
    Field("description", before.description, after.description);
    Field("version", std::to_string(before.version), std::to_string(after.version));
    Field("tier", before.tier.value_or(""), after.tier.value_or(""));
    Field("match", TextOf(before.match), TextOf(after.match));
    const auto per = [](const Rule& rule) {
      return rule.per ? TextOf(*rule.per) : std::string("client");
    };
    Field("per", per(before), per(after));
    Field("hash_tag", before.hash_tag, after.hash_tag);
    Field("on_missing", TextOf(before.on_missing), TextOf(after.on_missing));
    const auto consistency = [](const Rule& rule) {
      return rule.consistency == Consistency::kLeased ? "leased" : "exact";
    };
    Field("consistency", consistency(before), consistency(after));
    const auto priority = [](const Rule& rule) {
      return rule.priority == Priority::kStrict ? "strict" : "standard";
    };
    Field("priority", priority(before), priority(after));
    Field("on_store_failure", TextOf(before.on_store_failure), TextOf(after.on_store_failure));
    const auto emergency = [](const Rule& rule) {
      return rule.emergency ? LimitText(rule.emergency->numbers()) : std::string();
    };
    Field("emergency_limit", emergency(before), emergency(after));
    Field("when_full", TextOf(before.when_full), TextOf(after.when_full));
    Field("denial", TextOf(before.denial), TextOf(after.denial));
    Field("penalty", TextOf(before.penalty), TextOf(after.penalty));
    Field("starts_at", TextOf(before.schedule.starts_at), TextOf(after.schedule.starts_at));
    Field("expires_at", TextOf(before.schedule.expires_at), TextOf(after.schedule.expires_at));
    CompareRollouts(before.rollout, after.rollout);
    CompareVariants({}, before.variants, after.variants);
    CompareOverrides(before, after);
  }

  void CompareRollouts(const std::optional<Rollout>& before, const std::optional<Rollout>& after) {
    Field("rollout.percent", PercentOf(before), PercentOf(after));
    Field("rollout.by", before ? before->by : "", after ? after->by : "");
    const bool had_from = before && before->has_from;
    const bool has_from = after && after->has_from;
    if (had_from && has_from) {
      CompareVariants("rollout.from.", Present(before->from), Present(after->from));
    } else if (has_from) {
      Add("rollout.from", {}, TextOf(Present(after->from).usual), ChangeEffect::kNew);
    } else if (had_from) {
      Add("rollout.from", TextOf(Present(before->from).usual), {}, ChangeEffect::kGone);
    }
  }

  void CompareOverrides(const Rule& before, const Rule& after) {
    std::map<std::string, const Override*> old;
    for (const Override& each : before.overrides) old.emplace(TextOf(each.whose), &each);
    for (const Override& each : after.overrides) {
      const std::string label = "override[" + each.whose.text + "]";
      const auto found = old.find(TextOf(each.whose));
      if (found == old.end()) {
        Add(label, {}, TextOf(each.variants.usual), ChangeEffect::kNew);
      } else {
        CompareVariants(label + ".", found->second->variants, each.variants);
        old.erase(found);
      }
    }
    for (const auto& [whose, each] : old) {
      Add("override[" + each->whose.text + "]", TextOf(each->variants.usual), {},
          ChangeEffect::kGone);
    }
  }

  void CompareVariants(const std::string& prefix, const LimitVariants& before,
                       const LimitVariants& after) {
    CompareLimits(prefix, {}, before.usual, after.usual);
    std::set<std::string_view> tiers;
    for (const auto& [tier, limits] : before.by_tier) tiers.insert(tier);
    for (const auto& [tier, limits] : after.by_tier) tiers.insert(tier);
    const auto limits_of = [](const LimitVariants& variants,
                              std::string_view tier) -> const Limits& {
      const auto found = variants.by_tier.find(tier);
      return found == variants.by_tier.end() ? variants.usual : found->second;
    };
    for (const std::string_view tier : tiers) {
      CompareLimits(prefix, "[tier " + std::string(tier) + "]", limits_of(before, tier),
                    limits_of(after, tier));
    }
  }

  void CompareLimits(const std::string& prefix, const std::string& suffix, const Limits& before,
                     const Limits& after) {
    const auto find = [](const Limits& limits, std::string_view name) -> const NamedLimit* {
      const auto found = std::find_if(limits.begin(), limits.end(),
                                      [&](const NamedLimit& limit) { return limit.name == name; });
      return found == limits.end() ? nullptr : &*found;
    };
    for (const NamedLimit& limit : after) {
      const std::string field = prefix + "limits." + limit.name + suffix;
      if (const NamedLimit* old = find(before, limit.name)) {
        CompareLimit(field, *old, limit);
      } else {
        Add(field, {}, TextOf(limit), ChangeEffect::kNew);
      }
    }
    for (const NamedLimit& limit : before) {
      if (find(after, limit.name) != nullptr) continue;
      Add(prefix + "limits." + limit.name + suffix, TextOf(limit), {}, ChangeEffect::kGone);
    }
  }

  void CompareLimit(const std::string& field, const NamedLimit& before, const NamedLimit& after) {
    const bool same =
        before.reject_all == after.reject_all && (before.reject_all || before.limit == after.limit);
    if (!same) Add(field, TextOf(before), TextOf(after), EffectOf(before, after));
    Flag(field + ".shadow", before.shadow, after.shadow, ChangeEffect::kLoosens);
    Field(field + ".starts_at", TextOf(before.schedule.starts_at),
          TextOf(after.schedule.starts_at));
    Field(field + ".expires_at", TextOf(before.schedule.expires_at),
          TextOf(after.schedule.expires_at));
    Field(field + ".type", before.type, after.type);
    const auto counted = [](const NamedLimit& limit) {
      const bool is_usual = !limit.cost.count || *limit.cost.count == CountOf(limit.type);
      return is_usual ? std::string() : TextOf(*limit.cost.count, limit.scale);
    };
    Field(field + ".count", counted(before), counted(after));
    const bool constant = before.cost.constant && after.cost.constant;
    const bool costs_more = constant && *after.cost.constant > *before.cost.constant;
    Field(field + ".cost", TextOf(before.cost), TextOf(after.cost),
          !constant    ? ChangeEffect::kChanges
          : costs_more ? ChangeEffect::kTightens
                       : ChangeEffect::kLoosens);
    const auto bound = [](const NamedLimit& limit) {
      return limit.cost.max_cost.value_or(kMaxAmount + 1);
    };
    Field(field + ".max_cost", TextOf(before.cost.max_cost), TextOf(after.cost.max_cost),
          bound(after) < bound(before) ? ChangeEffect::kTightens : ChangeEffect::kLoosens);
    Field(field + ".max_settlement", TextOf(before.max_settlement), TextOf(after.max_settlement));
    if (same && !before.reject_all) {
      Field(field + ".window", SpanText(before.window), SpanText(after.window));
    }
  }

  const RuleFile& before_;
  const RuleFile& after_;
  std::string rule_;
  std::vector<DifferenceRow> rows_;
};

}  // namespace

std::string_view NameOf(ChangeEffect effect) {
  static constexpr std::array<std::string_view, 5> kNames{"tightens", "loosens", "new", "gone",
                                                          "changes"};
  return kNames[static_cast<std::size_t>(effect)];
}

std::vector<DifferenceRow> Compare(const RuleFile& before, const RuleFile& after) {
  return Comparison(before, after).Compare();
}

}  // namespace sluice::rules
