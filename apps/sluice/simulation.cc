#include "simulation.h"

#include <algorithm>
#include <utility>

namespace sluice::app {
namespace {

using rules::MetLimit;
using store::Use;

bool Denies(const MetLimit& met, const Use* use) {
  return met.limit->reject_all || use->verdict.outcome != Outcome::kAllowed;
}

bool ClosesOnFailure(const MetLimit& met) {
  return !met.rule->shadow && met.rule->on_store_failure == rules::OnStoreFailure::kClosed;
}

LimitTally& TallyOf(RuleTally& rule, const std::string& name) {
  for (LimitTally& limit : rule.limits) {
    if (limit.name == name) return limit;
  }
  return rule.limits.emplace_back(LimitTally{.name = name});
}

// Names first, so that a report shows also what was never met.
void NameLimits(const rules::Rule& rule, RuleTally& tally) {
  const rules::Variants& variants = rule.variants;
  const rules::Limits* limits = &variants.usual;
  if (limits->empty() && !variants.by_tier.empty()) limits = &variants.by_tier.begin()->second;
  for (const rules::NamedLimit& limit : *limits) tally.limits.push_back({.name = limit.name});
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Undoes AppendPercentEncoded.
void AppendDecoded(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(16 * HexDigit(text[i + 1]) + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
}

}  // namespace

void AppendOwner(const rules::Rule& rule, const Key& key, std::string& out) {
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
    AppendDecoded(rest.substr(0, end), out);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

Result<std::unique_ptr<Simulation>> Simulation::Create(std::shared_ptr<const rules::RuleSet> rules,
                                                       const SimulationOptions& options) {
  auto store = store::MemoryStore::Create({.max_keys = options.max_keys});
  if (!store) return store.error();
  return std::unique_ptr<Simulation>(new Simulation(std::move(rules), std::move(*store), options));
}

Simulation::Simulation(std::shared_ptr<const rules::RuleSet> rules,
                       std::unique_ptr<store::MemoryStore> store, const SimulationOptions& options)
    : rules_(std::move(rules)),
      store_(std::move(store)),
      denied_keys_left_(options.max_denied_keys) {
  for (const rules::Rule& rule : rules_->file().rules) {
    RuleTally& tally = tally_.rules.emplace_back();
    tally.rule = &rule;
    NameLimits(rule, tally);
  }
}

RuleTally& Simulation::TallyOf(const rules::Rule* rule) {
  return tally_.rules[static_cast<std::size_t>(rule - rules_->file().rules.data())];
}

Judgement Simulation::Judge(const TraceRow& row, WallTime now) {
  EndCalls(now);
  const Judgement judgement = Decide(row, now);
  ++tally_.calls;
  tally_.allowed += judgement.allowed ? 1 : 0;
  ++tally_.by_reason[static_cast<std::size_t>(judgement.reason)];
  if (judgement.reason == Reason::kNoRule && !judgement.allowed) ++tally_.no_rule_denied;
  return judgement;
}

Judgement Simulation::Decide(const TraceRow& row, WallTime now) {
  rules_->Find(row.attributes, row.cost, match_);
  if (match_.listed() == rules::Listed::kDenied) {
    return {.allowed = false, .reason = Reason::kDenyList};
  }
  if (match_.listed() == rules::Listed::kAllowed) {
    return {.allowed = true, .reason = Reason::kAllowList};
  }
  for (const rules::Rule* rule : match_.lacking()) ++TallyOf(rule).lacking;
  if (const rules::CostRefusal* refusal = match_.refusal()) {
    ++TallyOf(refusal->rule).cost_refused;
    return {.allowed = false,
            .reason = Reason::kCostRefused,
            .rule = refusal->rule,
            .limit = refusal->limit};
  }
  if (match_.limits().empty()) {
    return {.allowed = rules_->file().otherwise == rules::Default::kAllow,
            .reason = Reason::kNoRule};
  }
  return AskStore(row, now);
}

Judgement Simulation::AskStore(const TraceRow& row, WallTime now) {
  const auto met_limits = match_.limits();
  bool rejected = false;
  uses_.clear();
  uses_.reserve(met_limits.size());
  use_of_.clear();
  for (const MetLimit& met : met_limits) {
    const bool shadow = met.rule->shadow;
    if (met.limit->reject_all) {
      rejected = rejected || !shadow;
      use_of_.push_back(nullptr);
      continue;
    }
    Use& use = uses_.emplace_back();
    use.key = met.key;
    use.limit = &met.limit->limit;
    use.cost = met.cost;
    use.mode = shadow ? Mode::kShadow : Mode::kEnforce;
    use_of_.push_back(&use);
  }
  if (!Submit(now, rejected)) {
    const bool open = std::none_of(met_limits.begin(), met_limits.end(), ClosesOnFailure);
    return {.allowed = open && !rejected, .reason = Reason::kNotJudged};
  }
  Judgement judgement{.allowed = !rejected};
  for (std::size_t i = 0; i < met_limits.size(); ++i) {
    const MetLimit& met = met_limits[i];
    if (met.rule->shadow || !Denies(met, use_of_[i])) continue;
    judgement.allowed = false;
    judgement.rule = met.rule;
    judgement.limit = met.limit;
    break;
  }
  CountLimits(judgement.allowed);
  if (judgement.allowed) KeepSlots(row, now);
  return judgement;
}

// A call that some limit rejects whatever happens takes nothing from the others.
bool Simulation::Submit(WallTime now, bool rejected) {
  if (uses_.empty()) return true;
  store::Call call;
  call.operation = rejected ? store::Operation::kPeek : store::Operation::kCheck;
  call.uses = uses_;
  call.now = now;
  store_->Submit(call);
  return call.ok;
}

void Simulation::CountLimits(bool allowed) {
  const auto met_limits = match_.limits();
  // The limits of a rule stand together.
  for (std::size_t i = 0; i < met_limits.size();) {
    RuleTally& rule = TallyOf(met_limits[i].rule);
    bool denied = false;
    const std::size_t first = i;
    for (; i < met_limits.size() && met_limits[i].rule == rule.rule; ++i) {
      const MetLimit& met = met_limits[i];
      LimitTally& limit = app::TallyOf(rule, met.limit->name);
      ++limit.met;
      if (Denies(met, use_of_[i])) {
        denied = true;
        ++limit.denied;
        const bool never =
            met.limit->reject_all || use_of_[i]->verdict.outcome == Outcome::kNeverFits;
        limit.never_fits += never ? 1 : 0;
      } else if (allowed) {
        limit.taken += met.cost;
      }
    }
    ++rule.met;
    if (denied) {
      ++rule.denied;
      CountDeniedKey(rule, met_limits[first]);
    }
  }
}

void Simulation::CountDeniedKey(RuleTally& rule, const MetLimit& met) {
  key_name_.clear();
  AppendOwner(*rule.rule, met.key, key_name_);
  const auto found = rule.denied_keys.find(key_name_);
  if (found != rule.denied_keys.end()) {
    ++found->second;
  } else if (denied_keys_left_ > 0) {
    rule.denied_keys.emplace(key_name_, 1);
    --denied_keys_left_;
  } else {
    ++tally_.keys_not_told;
  }
}

void Simulation::KeepSlots(const TraceRow& row, WallTime now) {
  for (const Use& use : uses_) {
    if (use.limit->algorithm() != Algorithm::kConcurrency || use.receipt.amount == 0) continue;
    if (!row.duration) {
      ++tally_.unending_slots;
      continue;
    }
    slots_.push({.end = now + *row.duration,
                 .id = use.receipt.slot,
                 .limit = use.limit,
                 .scope = std::string(use.key.scope),
                 .tag = std::string(use.key.tag),
                 .rest = std::string(use.key.rest)});
  }
}

void Simulation::EndCalls(WallTime now) {
  while (!slots_.empty() && slots_.top().end <= now) {
    const Slot& slot = slots_.top();
    Use use;
    use.key = {.scope = slot.scope, .tag = slot.tag, .rest = slot.rest};
    use.limit = slot.limit;
    use.slot = slot.id;
    store::Call call;
    call.operation = store::Operation::kRelease;
    call.uses = {&use, 1};
    call.now = slot.end;
    store_->Submit(call);
    slots_.pop();
  }
}

}  // namespace sluice::app
