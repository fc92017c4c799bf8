#include "rules/explain.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/key.h"
#include "rules/plain_call.h"
#include "rules/refused_cost.h"
#include "rules/tier.h"

namespace sluice::rules {
namespace {

const Pattern* FindOnList(const std::vector<Pattern>& list, const std::string& api_key,
                          const std::string& address) {
  for (const Pattern& entry : list) {
    const std::string& value = entry.kind == PatternKind::kCidr ? address : api_key;
    if (!value.empty() && PlainMatches(entry, value)) return &entry;
  }
  return nullptr;
}

// The first exact pattern that matches, else the first glob. `pattern_of` gets it from an entry.
template <typename Entry, typename PatternOf>
const Entry* FindExactFirst(const std::vector<Entry>& entries, const std::string& value,
                            const PatternOf& pattern_of) {
  for (const PatternKind kind : {PatternKind::kExact, PatternKind::kGlob}) {
    for (const Entry& entry : entries) {
      const Pattern pattern = pattern_of(entry);
      if (pattern.kind == kind && PlainMatches(pattern, value)) return &entry;
    }
  }
  return nullptr;
}

void ExplainTier(const RuleFile& file, PlainCall& call, Explanation& out) {
  const std::string key = call.Get("api_key");
  out.tier = call.Get("tier");
  if (!out.tier.empty() && !IsTier(file, out.tier)) {
    out.tier.clear();
    call.values.erase("tier");
  }
  if (!out.tier.empty()) {
    out.tier_source = TierSource::kAttribute;
  } else if (!key.empty() &&
             (out.tier_key = FindExactFirst(
                  file.keys, key, [](const KeyTier& each) { return each.key; })) != nullptr) {
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
  RuleExplainer(const Rule& rule, const PlainCall& call, std::int64_t cost)
      : rule_(rule), call_(call), cost_(cost) {
    out_.rule = &rule;
  }

  ExplainedRule Explain() && {
    if (!rule_.enabled) return std::move(*this).Not(RuleOutcome::kDisabled, "it is not enabled");
    if (!TierFits()) {
      out_.attribute = "tier";
      out_.value = Optional(call_.Get("tier"));
      return std::move(*this).Not(RuleOutcome::kTierDiffers,
                                  "it is for tier '" + *rule_.tier + "', and the call is " +
                                      (out_.value ? "of tier '" + *out_.value + "'" : "of none"));
    }
    for (const Condition& condition : rule_.match) {
      if (!PlainHolds(condition, call_)) return std::move(*this).Fails(condition);
    }
    out_.tier = rule_.tier ? *rule_.tier : call_.Get("tier");
    if (!FindKey()) {
      return std::move(*this).Not(
          RuleOutcome::kLacksAttribute,
          out_.attribute.empty()
              ? std::string("the call has neither an API key nor an address")
              : "the call has no '" + out_.attribute + "', which the budget is per");
    }
    const Limits& limits = FindLimits();
    if (limits.empty()) {
      return std::move(*this).Not(RuleOutcome::kNoNumbers,
                                  out_.tier.empty()
                                      ? std::string("it has numbers only for tiers")
                                      : "it has no numbers for tier '" + out_.tier + "'");
    }
    for (const NamedLimit& limit : limits) out_.limits.push_back(ExplainLimit(limit));
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

  ExplainedRule Fails(const Condition& condition) && {
    out_.failed = &condition;
    out_.attribute = condition.attribute;
    out_.value = Optional(call_.Get(condition.attribute));
    std::string why = condition.attribute;
    if (condition.presence == Presence::kAbsent) {
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

  bool TierFits() const {
    if (!rule_.tier || *rule_.tier == call_.Get("tier")) return true;
    if (call_.tier_known) return false;
    // Then a rule for certain keys takes a call for one of its own tier; that the key matches is
    // seen with the other conditions.
    return std::any_of(rule_.match.begin(), rule_.match.end(), [](const Condition& condition) {
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

  const Limits& FindLimits() {
    const bool by_address = !rule_.per || (!rule_.per->empty() && rule_.per->front() == "ip");
    if (!owner_.empty()) {
      out_.override_taken = FindExactFirst(rule_.overrides, owner_, [&](const Override& each) {
        Pattern pattern = each.whose;
        if (by_address && pattern.kind == PatternKind::kExact) {
          // An address may be written in several ways.
          const Attribute written{.name = "ip", .value = pattern.text};
          pattern.text = PlainCallOf({&written, 1}).Get("ip");
        }
        return pattern;
      });
    }
    const Variants& variants =
        out_.override_taken != nullptr ? out_.override_taken->variants : rule_.variants;
    const auto found = variants.by_tier.find(out_.tier);
    out_.tier_numbers = found != variants.by_tier.end();
    return out_.tier_numbers ? found->second : variants.usual;
  }

  ExplainedLimit ExplainLimit(const NamedLimit& limit) const {
    ExplainedLimit explained{
        .limit = &limit, .scope = {}, .tag = tag_, .rest = rest_, .refusal = {}};
    AppendPercentEncoded(rule_.id, explained.scope);
    explained.scope += ":";
    AppendPercentEncoded(limit.name, explained.scope);
    ExplainCost(limit.cost, explained);
    return explained;
  }

  void ExplainCost(const Cost& cost, ExplainedLimit& explained) const {
    if (cost_ == 0) return;  // A look takes nothing.
    const std::string sent = cost.attribute.empty() ? "" : call_.Get(cost.attribute);
    explained.cost = cost_;
    if (cost_ < 0) {
      explained.refusal = WhyRefused(cost, {}, cost_);
    } else if (cost.constant) {
      explained.cost = *cost.constant;
    } else if (!sent.empty()) {
      const char* end = sent.data() + sent.size();
      const auto [stopped, error] = std::from_chars(sent.data(), end, explained.cost);
      if (error != std::errc() || stopped != end || explained.cost < 1) {
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

  const Rule& rule_;
  const PlainCall& call_;
  const std::int64_t cost_;
  ExplainedRule out_;
  std::string lacks_;
  std::string owner_;
  std::string tag_;
  std::string rest_;
};

}  // namespace

Explanation Explain(const RuleFile& file, Attributes attributes, std::int64_t cost) {
  Explanation out;
  PlainCall call = PlainCallOf(attributes);
  const std::string key = call.Get("api_key");
  out.key_unknown = !key.empty() && !file.known_keys.empty() &&
                    std::none_of(file.known_keys.begin(), file.known_keys.end(),
                                 [&](const Pattern& known) { return PlainMatches(known, key); });
  if (out.key_unknown) call.values.erase("api_key");
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
  const Rule* final_rule = nullptr;
  for (const Rule& rule : file.rules) {
    if (final_rule != nullptr && rule.enabled) {
      ExplainedRule skipped;
      skipped.rule = &rule;
      skipped.outcome = RuleOutcome::kAfterFinal;
      skipped.why_not = "rule '" + final_rule->id + "' is met and final";
      out.rules.push_back(std::move(skipped));
      continue;
    }
    out.rules.push_back(RuleExplainer(rule, call, cost).Explain());
    const ExplainedRule& explained = out.rules.back();
    if (explained.outcome != RuleOutcome::kMet) continue;
    out.met = true;
    if (rule.final) final_rule = &rule;
    for (const ExplainedLimit& limit : explained.limits) {
      out.refused = out.refused || (!rule.shadow && !limit.refusal.empty());
    }
  }
  return out;
}

Explanation Explain(const RuleSet& rules, Attributes attributes, std::int64_t cost) {
  return Explain(rules.file(), attributes, cost);
}

}  // namespace sluice::rules
