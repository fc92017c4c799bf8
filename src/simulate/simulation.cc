#include "simulate/simulation.h"

#include <algorithm>
#include <utility>

#include "base/url.h"
#include "match/budget.h"

namespace sluice::simulate {
namespace {

using match::MatchedLimit;

LimitTally& TallyOf(RuleTally& rule, const rules::NamedLimit& named, match::Cohort cohort) {
  for (LimitTally& limit : rule.limits) {
    if (limit.name == named.name && limit.cohort == cohort) return limit;
  }
  return rule.limits.emplace_back(
      LimitTally{.name = named.name, .shadow = named.shadow, .cohort = cohort});
}

// Names first, so that a report also shows rules that never matched.
void NameLimits(const rules::LimitVariants& variants, match::Cohort cohort, RuleTally& tally) {
  const rules::Limits* limits = &variants.usual;
  if (limits->empty() && !variants.by_tier.empty()) limits = &variants.by_tier.begin()->second;
  for (const rules::NamedLimit& limit : *limits) {
    if (!limit.is_absent) TallyOf(tally, limit, cohort);
  }
}

}  // namespace

void AppendOwner(const rules::Rule& rule, const Key& key, std::string& out) {
  if (key.rest == match::kMissingRest) {
    out += "calls that lack an attribute";
    return;
  }
  if (!rule.per) {
    out += key.rest == "ip" ? "ip=" : "api_key=";
    out += key.tag;
    return;
  }
  if (rule.per->empty()) {
    out += "everyone";
    return;
  }
  const std::string& first = rule.hash_tag.empty() ? rule.per->front() : rule.hash_tag;
  out += first;
  out += '=';
  out += key.tag;
  std::string_view rest = key.rest;
  for (const std::string& name : *rule.per) {
    if (name == first) continue;
    const std::size_t end = std::min(rest.find(':'), rest.size());
    out += ", ";
    out += name;
    out += '=';
    std::string value;
    if (DecodePercent(rest.substr(0, end), value)) out += value;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

Result<std::unique_ptr<Simulation>> Simulation::Create(std::shared_ptr<const match::RuleSet> rules,
                                                       const SimulationOptions& options) {
  auto replay =
      Replay::Create(std::move(rules), {.max_keys = options.max_keys, .entries = options.entries});
  if (!replay) return replay.error();
  return std::unique_ptr<Simulation>(new Simulation(std::move(*replay), options));
}

Simulation::Simulation(std::unique_ptr<Replay> replay, const SimulationOptions& options)
    : replay_(std::move(replay)), denied_keys_left_(options.max_denied_keys) {
  for (const rules::Rule& rule : rules().file().rules) {
    RuleTally& tally = tally_.rules.emplace_back();
    tally.rule = &rule;
    NameLimits(rule.variants, rule.rollout ? match::Cohort::kNew : match::Cohort::kAll, tally);
    if (rule.rollout) NameLimits(rule.rollout->from, match::Cohort::kOld, tally);
  }
}

RuleTally& Simulation::TallyOf(const rules::Rule* rule) {
  return tally_.rules[static_cast<std::size_t>(rule - rules().file().rules.data())];
}

SimulatedDecision Simulation::Evaluate(const TraceRow& row, WallTime now) {
  const SimulatedDecision decision = replay_->Evaluate(row, now);
  Count(decision);
  return decision;
}

void Simulation::Count(const SimulatedDecision& decision) {
  ++tally_.calls;
  tally_.allowed += decision.allowed ? 1 : 0;
  ++tally_.by_reason[static_cast<std::size_t>(decision.reason)];
  tally_.unending_slots = replay_->unending_slots();
  if (decision.reason == Reason::kAllowList || decision.reason == Reason::kDenyList ||
      decision.reason == Reason::kAllowEntry || decision.reason == Reason::kBlockEntry) {
    return;
  }
  for (const rules::Rule* rule : replay_->match().lacking()) ++TallyOf(rule).lacking;
  if (decision.reason == Reason::kCostRefused) ++TallyOf(decision.rule).cost_refused;
  if (decision.reason == Reason::kNoRule && !decision.allowed) ++tally_.no_rule_denied;
  if (decision.reason == Reason::kLimits) CountLimits(decision.allowed);
}

void Simulation::CountLimits(bool allowed) {
  const auto matched_limits = replay_->match().limits();
  // The limits of a rule stand together.
  for (std::size_t i = 0; i < matched_limits.size();) {
    RuleTally& rule = TallyOf(matched_limits[i].rule);
    bool denied = false;
    const std::size_t first = i;
    for (; i < matched_limits.size() && matched_limits[i].rule == rule.rule; ++i) {
      const MatchedLimit& matched = matched_limits[i];
      LimitTally& limit = simulate::TallyOf(rule, *matched.limit, matched.cohort);
      ++limit.matched;
      if (replay_->Denies(i)) {
        denied = denied || rule.rule->shadow || !matched.limit->shadow;
        ++limit.denied;
        limit.never_fits += replay_->NeverFits(i) ? 1 : 0;
      } else if (allowed) {
        limit.taken += matched.cost;
      }
    }
    ++rule.matched;
    if (denied) {
      ++rule.denied;
      CountDeniedKey(rule, matched_limits[first]);
    }
  }
}

void Simulation::CountDeniedKey(RuleTally& rule, const MatchedLimit& matched) {
  key_name_.clear();
  AppendOwner(*rule.rule, matched.key, key_name_);
  const auto found = rule.denied_keys.find(key_name_);
  if (found != rule.denied_keys.end()) {
    ++found->second;
  } else if (denied_keys_left_ > 0) {
    rule.denied_keys.emplace(key_name_, 1);
    --denied_keys_left_;
  } else {
    ++tally_.keys_not_listed;
  }
}

}  // namespace sluice::simulate
