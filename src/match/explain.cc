#include "match/explain.h"

#include <algorithm>
#include <utility>

#include "base/key.h"
#include "base/parse_number.h"
#include "base/timestamp.h"
#include "base/wide_math.h"
#include "match/budget.h"
#include "match/plain_call.h"
#include "match/refused_cost.h"
#include "match/tier.h"

namespace sluice::match {
namespace {

const rules::Pattern* FindOnList(const std::vector<rules::Pattern>& list,
                                 const std::string& api_key, const std::string& address) {
  for (const rules::Pattern& entry : list) {
    const std::string& value = entry.kind == rules::PatternKind::kCidr ? address : api_key;
    if (!value.empty() && PlainMatches(entry, value)) return &entry;
  }
  return nullptr;
}

// The first exact pattern that matches, else the first glob. `pattern_of` gets it from an entry.
template <typename Entry, typename PatternOf>
const Entry* FindExactFirst(const std::vector<Entry>& entries, const std::string& value,
                            const PatternOf& pattern_of) {
  for (const rules::PatternKind kind : {rules::PatternKind::kExact, rules::PatternKind::kGlob}) {
    for (const Entry& entry : entries) {
      const rules::Pattern pattern = pattern_of(entry);
      if (pattern.kind == kind && PlainMatches(pattern, value)) return &entry;
    }
  }
  return nullptr;
}

void ExplainTier(const rules::RuleFile& file, PlainCall& call, Explanation& out) {
  const std::string key = call.Get("api_key");
  out.tier = call.Get("tier");
  if (!out.tier.empty() && !IsTier(file, out.tier)) {
    out.tier.clear();
    call.values.erase("tier");
  }
  if (!out.tier.empty()) {
    out.tier_source = TierSource::kAttribute;
  } else if (!key.empty() &&
             (out.tier_key = FindExactFirst(file.keys, key, [](const rules::KeyTier& each) {
                return each.key;
              })) != nullptr) {
    out.tier = out.tier_key->tier;
    out.tier_source = TierSource::kKeys;
  } else if (!file.default_tier.empty()) {
    out.tier = file.default_tier;
    out.tier_source = TierSource::kDefault;
  }
  call.tier_known =
      out.tier_source == TierSource::kAttribute || out.tier_source == TierSource::kKeys;
  if (!out.tier.empty()) call.values["tier"] = out.tier;
}

// Explains one rule of the file for one call.
class RuleExplainer {
 public:
  RuleExplainer(const rules::RuleFile& file, const rules::Rule& rule, const PlainCall& call,
                const Usage& usage, WallTime now)
      : file_(file), rule_(rule), call_(call), usage_(usage), cost_(usage.cost), now_(now) {
    out_.rule = &rule;
  }

  ExplainedRule Explain() && {
    if (!rule_.enabled) return std::move(*this).Not(RuleOutcome::kDisabled, "it is not enabled");
    if (!rule_.schedule.Contains(now_)) {
      return std::move(*this).Not(OutcomeOf(rule_.schedule), WhyNot(rule_.schedule));
    }
    if (!HasLimitInForce()) {
      return std::move(*this).Not(RuleOutcome::kNoLimitInForce, "none of its limits is in force");
    }
    if (!TierFits()) {
      out_.attribute = "tier";
      out_.value = Optional(call_.Get("tier"));
      return std::move(*this).Not(RuleOutcome::kTierDiffers,
                                  "it is for tier '" + *rule_.tier + "', and the call is " +
                                      (out_.value ? "of tier '" + *out_.value + "'" : "of none"));
    }
    for (const rules::Condition& condition : rule_.match) {
      if (!PlainHolds(condition, call_)) return std::move(*this).Fails(condition);
    }
    out_.tier = rule_.tier ? *rule_.tier : call_.Get("tier");
    const bool has_key = FindKey();
    if (!has_key) ShareBudgetOfMissing();
    if (rule_.rollout) {
      out_.cohort = CohortOf(*rule_.rollout, rule_.id, has_key ? RolloutValue() : std::string());
      if (out_.cohort == Cohort::kOld && !rule_.rollout->has_from) {
        out_.is_missing = false;
        out_.attribute.clear();
        return std::move(*this).Not(RuleOutcome::kOutsideRollout,
                                    "the caller is outside of its rollout");
      }
    }
    if (!has_key) {
      const rules::OnMissing on_missing = rule_.on_missing.value_or(rules::OnMissing::kSkip);
      if (on_missing == rules::OnMissing::kSkip) {
        out_.is_missing = false;
        return std::move(*this).Not(
            RuleOutcome::kLacksAttribute,
            out_.attribute.empty()
                ? std::string("the call has neither an API key nor an address")
                : "the call has no '" + out_.attribute + "', which the budget is per");
      }
      if (on_missing == rules::OnMissing::kDeny) {
        for (const rules::NamedLimit& limit : rule_.denial_of_missing) {
          out_.limits.push_back(ExplainLimit(limit));
        }
        return std::move(out_);
      }
    }
    const rules::Limits& limits = FindLimits();
    if (limits.empty()) {
      return std::move(*this).Not(RuleOutcome::kNoNumbers,
                                  out_.tier.empty()
                                      ? std::string("it has numbers only for tiers")
                                      : "it has no numbers for tier '" + out_.tier + "'");
    }
    for (const rules::NamedLimit& limit : limits) {
      if (limit.is_absent) {
        out_.skipped.push_back({&limit, "it is new, and the caller is outside of the rollout"});
      } else if (!limit.schedule.Contains(now_)) {
        out_.skipped.push_back({&limit, WhyNot(limit.schedule)});
      } else {
        out_.limits.push_back(ExplainLimit(limit));
      }
    }
    if (out_.limits.empty()) {
      return std::move(*this).Not(RuleOutcome::kNoLimitInForce, "none of its limits is in force");
    }
    return std::move(out_);
  }

 private:
  static std::optional<std::string> Optional(std::string value) {
    if (value.empty()) return std::nullopt;
    return value;
  }

  ExplainedRule Not(RuleOutcome outcome, std::string why) && {
    out_.outcome = outcome;
    out_.why_not = std::move(why);
    return std::move(out_);
  }

  ExplainedRule Fails(const rules::Condition& condition) && {
    out_.failed = &condition;
    out_.attribute = condition.attribute;
    out_.value = Optional(call_.Get(condition.attribute));
    std::string why = condition.attribute;
    if (condition.presence == rules::Presence::kAbsent) {
      why += " is '" + *out_.value + "', and the rule wants none";
    } else if (!out_.value) {
      why = "the call has no '" + condition.attribute + "'";
    } else {
      why += " '" + *out_.value + "' ";
      why += condition.any_of.size() == 1 ? "does not match " : "matches none of ";
      for (std::size_t i = 0; i < condition.any_of.size(); ++i) {
        if (i == kMaxShown) {
          why += " and " + std::to_string(condition.any_of.size() - i) + " more";
          break;
        }
        why += (i > 0 ? ", '" : "'") + condition.any_of[i].text + "'";
      }
    }
    return std::move(*this).Not(RuleOutcome::kConditionFails, std::move(why));
  }

  RuleOutcome OutcomeOf(const rules::Schedule& schedule) const {
    return now_ < schedule.starts_at ? RuleOutcome::kNotStarted : RuleOutcome::kExpired;
  }

  std::string WhyNot(const rules::Schedule& schedule) const {
    return now_ < schedule.starts_at ? "it starts at " + FormatTimestamp(schedule.starts_at)
                                     : "it expired at " + FormatTimestamp(schedule.expires_at);
  }

  // All variants have the same schedules.
  bool HasLimitInForce() const {
    bool any = false;
    bool in_force = false;
    const auto look = [&](const rules::LimitVariants& variants) {
      const auto look_at = [&](const rules::Limits& limits) {
        for (const rules::NamedLimit& limit : limits) {
          any = true;
          in_force = in_force || limit.schedule.Contains(now_);
        }
      };
      look_at(variants.usual);
      for (const auto& [tier, limits] : variants.by_tier) look_at(limits);
    };
    look(rule_.variants);
    for (const rules::Override& each : rule_.overrides) look(each.variants);
    return in_force || !any;
  }

  // The value that the budget is counted under.
  std::string RolloutValue() {
    if (!rule_.rollout->by.empty()) return Counted(rule_.rollout->by);
    return Counted(call_.Get("api_key").empty() ? "ip" : "api_key");
  }

  bool TierFits() const {
    if (!rule_.tier || *rule_.tier == call_.Get("tier")) return true;
    if (call_.tier_known) return false;
    // Then a rule for certain keys takes a call for one of its own tier; that the key matches is
    // seen with the other conditions.
    return std::any_of(rule_.match.begin(), rule_.match.end(),
                       [](const rules::Condition& condition) {
                         return condition.attribute == "api_key" && !condition.any_of.empty();
                       });
  }

  // Notes what the call lacks.
  std::string Value(const std::string& attribute) {
    std::string value = call_.Get(attribute);
    if (attribute == "tier") value = out_.tier;
    if (attribute == "endpoint" && !call_.endpoint_template.empty()) {
      value = call_.endpoint_template;
    }
    if (value.empty() && lacks_.empty()) lacks_ = attribute;
    return value;
  }

  // What a budget is counted under for an attribute.
  std::string Counted(const std::string& attribute) {
    std::string value = Value(attribute);
    if (value.empty()) return value;
    const std::string instead = attribute == "api_key" ? call_.Get("api_key_hash")
                                : attribute == "ip"    ? call_.Get("ip_network")
                                                       : "";
    return instead.empty() ? value : instead;
  }

  bool FindKey() {
    std::vector<std::string> rest;
    if (!rule_.per) {
      const bool by_key = !call_.Get("api_key").empty();
      const std::string client = by_key ? "api_key" : "ip";
      owner_ = call_.Get(client);
      if (owner_.empty()) return false;
      tag_ = Counted(rule_.hash_tag.empty() ? client : rule_.hash_tag);
      if (!rule_.hash_tag.empty() && rule_.hash_tag != client) rest.push_back(Counted(client));
      if (!by_key) rest.emplace_back("ip");
    } else if (rule_.per->empty()) {
      tag_ = rule_.id;
    } else {
      const std::string tag = rule_.hash_tag.empty() ? rule_.per->front() : rule_.hash_tag;
      tag_ = Counted(tag);
      owner_ = Value(rule_.per->front());
      bool tag_seen = false;
      for (const std::string& attribute : *rule_.per) {
        if (attribute == tag && !std::exchange(tag_seen, true)) continue;
        rest.push_back(Counted(attribute));
      }
    }
    out_.attribute = lacks_;
    AppendEncodedValues(std::vector<std::string_view>(rest.begin(), rest.end()), rest_);
    return lacks_.empty();
  }

  void ShareBudgetOfMissing() {
    out_.is_missing = true;
    owner_.clear();
    tag_ = rule_.id;
    rest_ = kMissingRest;
  }

  const rules::Limits& FindLimits() {
    const bool by_address = !rule_.per || (!rule_.per->empty() && rule_.per->front() == "ip");
    if (!owner_.empty()) {
      out_.override_taken =
          FindExactFirst(rule_.overrides, owner_, [&](const rules::Override& each) {
            rules::Pattern pattern = each.whose;
            if (by_address && pattern.kind == rules::PatternKind::kExact) {
              // An address may be written in several ways.
              const Attribute written{.name = "ip", .value = pattern.text};
              pattern.text = PlainCallOf({&written, 1}).Get("ip");
            }
            return pattern;
          });
    }
    const bool is_old = out_.cohort == Cohort::kOld;
    const rules::LimitVariants& own = is_old ? rule_.rollout->from : rule_.variants;
    const rules::LimitVariants& variants = out_.override_taken == nullptr ? own
                                           : is_old ? out_.override_taken->from
                                                    : out_.override_taken->variants;
    const auto found = variants.by_tier.find(out_.tier);
    out_.tier_numbers = found != variants.by_tier.end();
    return out_.tier_numbers ? found->second : variants.usual;
  }

  ExplainedLimit ExplainLimit(const rules::NamedLimit& limit) const {
    ExplainedLimit explained{
        .limit = &limit, .scope = {}, .tag = tag_, .rest = rest_, .refusal = {}};
    AppendPercentEncoded(rule_.id, explained.scope);
    explained.scope += ":";
    AppendPercentEncoded(limit.name, explained.scope);
    if (usage_.is_by_quantity) {
      ExplainSum(limit, explained);
    } else if (rules::CountsMoney(limit) && cost_ > 0) {
      explained.refusal = "it counts money, so the call needs quantities";
    } else {
      ExplainCost(limit.cost, explained);
    }
    return explained;
  }

  // The sum of a call's quantities, one by one.
  void ExplainSum(const rules::NamedLimit& limit, ExplainedLimit& explained) const {
    const rules::Cost& cost = limit.cost;
    if (cost.constant) {
      explained.cost = *cost.constant;
      return;
    }
    const rules::Count* count = cost.count.get();
    if (rules::CountsMoney(limit)) {
      const std::string model = call_.Get("model");
      const rules::ModelPrice* price = nullptr;
      for (const rules::ModelPrice& each : file_.models) {
        const bool is_better =
            price == nullptr || (each.model.kind == rules::PatternKind::kExact &&
                                 price->model.kind != rules::PatternKind::kExact);
        if (!model.empty() && is_better && PlainMatches(each.model, model)) price = &each;
      }
      if (price == nullptr) {
        explained.refusal = "`models` has no price for '" + model + "'";
        return;
      }
      count = &price->price;
    }
    const rules::CountResult sum = rules::Sum(*count, usage_.quantities);
    explained.cost = CeilDiv(sum.amount, limit.scale);
    if (sum.error == rules::CountError::kMissing) {
      explained.refusal = "the call lacks the quantity '" + std::string(sum.quantity) + "'";
    } else if (sum.error == rules::CountError::kNoPrice) {
      explained.refusal = "'" + std::string(sum.quantity) + "' has no price";
    } else if (sum.error == rules::CountError::kTooLarge) {
      explained.refusal = "the sum is too large";
    } else if (cost.max_cost && explained.cost > *cost.max_cost) {
      explained.refusal = WhyRefused(cost, {}, explained.cost);
    } else if (cost.least > 1) {
      explained.cost = std::max(explained.cost, cost.least);
    }
  }

  void ExplainCost(const rules::Cost& cost, ExplainedLimit& explained) const {
    if (cost_ == 0) return;  // A look takes nothing.
    const std::string sent = cost.attribute.empty() ? "" : call_.Get(cost.attribute);
    explained.cost = cost_;
    if (cost_ < 0) {
      explained.refusal = WhyRefused(cost, {}, cost_);
    } else if (cost.constant) {
      explained.cost = *cost.constant;
    } else if (!sent.empty()) {
      explained.cost = ParseNumber<std::int64_t>(sent).value_or(0);
      if (explained.cost < 1) {
        explained.refusal = WhyRefused(cost, sent, cost_);
      }
    }
    if (!explained.refusal.empty() || cost.constant) return;
    if (cost.max_cost && explained.cost > *cost.max_cost) {
      explained.refusal = WhyRefused(cost, sent, cost_);
      return;
    }
    explained.cost = std::max(explained.cost, cost.least);
  }

  static constexpr std::size_t kMaxShown = 5;

  const rules::RuleFile& file_;
  const rules::Rule& rule_;
  const PlainCall& call_;
  const Usage& usage_;
  const std::int64_t cost_;
  const WallTime now_;
  ExplainedRule out_;
  std::string lacks_;
  std::string owner_;
  std::string tag_;
  std::string rest_;
};

}  // namespace

Explanation Explain(const rules::RuleFile& file, Attributes attributes, const Usage& usage,
                    WallTime now) {
  Explanation out;
  PlainCall call = PlainCallOf(attributes);
  const std::string key = call.Get("api_key");
  out.key_unknown =
      !key.empty() && !file.known_keys.empty() &&
      std::none_of(file.known_keys.begin(), file.known_keys.end(),
                   [&](const rules::Pattern& known) { return PlainMatches(known, key); });
  if (out.key_unknown) call.values.erase("api_key");
  out.has_known_key = !call.Get("api_key").empty();
  ExplainTier(file, call, out);
  out.address = call.Get("ip");
  out.endpoint = call.Get("endpoint");
  if (!out.endpoint.empty()) {
    out.endpoint_template = call.endpoint_template = PlainTemplateOf(file.endpoints, out.endpoint);
  }

  if ((out.list_entry = FindOnList(file.deny, call.raw_key, out.address)) != nullptr) {
    out.listed = Listed::kDenied;
    return out;
  }
  if ((out.list_entry = FindOnList(file.allow, call.Get("api_key"), out.address)) != nullptr) {
    out.listed = Listed::kAllowed;
    return out;
  }
  const rules::Rule* final_rule = nullptr;
  for (const rules::Rule& rule : file.rules) {
    if (final_rule != nullptr && rule.enabled) {
      ExplainedRule skipped;
      skipped.rule = &rule;
      skipped.outcome = RuleOutcome::kAfterFinal;
      skipped.why_not = "rule '" + final_rule->id + "' matches and is final";
      out.rules.push_back(std::move(skipped));
      continue;
    }
    out.rules.push_back(RuleExplainer(file, rule, call, usage, now).Explain());
    const ExplainedRule& explained = out.rules.back();
    if (explained.outcome != RuleOutcome::kMatched) continue;
    out.matched = true;
    if (rule.final) final_rule = &rule;
    for (const ExplainedLimit& limit : explained.limits) {
      out.refused = out.refused || (!IsShadow(rule, *limit.limit) && !limit.refusal.empty());
    }
  }
  return out;
}

Explanation Explain(const RuleSet& rules, Attributes attributes, const Usage& usage, WallTime now) {
  return Explain(rules.file(), attributes, usage, now);
}

void ExplainEntries(FoundEntries found, Explanation& out) {
  out.entries.assign(found.begin(), found.end());
  out.block = FindBlock(found);
  if (out.block == nullptr && out.listed == Listed::kNo) out.exemption = FindAllow(found);
  const TakesPenalties takes = out.has_known_key ? TakesPenalties::kOfKeys : TakesPenalties::kAll;
  const auto enforced = [&](std::string_view rule) -> const LiveEntry* {
    const LiveEntry* const penalty = FindPenalty(found, takes, rule);
    return penalty != nullptr && !penalty->entry.penalty->shadow ? penalty : nullptr;
  };
  if (out.block == nullptr && out.exemption == nullptr && out.listed == Listed::kNo) {
    out.block = enforced({});
  }
  for (ExplainedRule& rule : out.rules) {
    if (out.block == nullptr && out.exemption == nullptr && !rule.limits.empty()) {
      out.block = FindBlock(found, rule.rule->id);
      if (out.block == nullptr) out.block = enforced(rule.rule->id);
    }
    for (ExplainedLimit& limit : rule.limits) {
      EntryTarget target = TargetOf(*rule.rule, *limit.limit);
      target.penalties = takes;
      limit.entry = FindAllow(found, target);
      if (limit.entry == nullptr) limit.entry = FindAdjustment(found, target);
      if (limit.entry == nullptr || target.rejects_all) continue;
      limit.adjusted = AdjustedLimit(limit.limit->limit, limit.entry->entry, limit.limit->scale);
    }
  }
}

}  // namespace sluice::match
