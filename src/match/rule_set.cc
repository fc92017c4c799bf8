#include "match/rule_set.h"

#include <algorithm>
#include <utility>

#include "base/host_name.h"
#include "match/compiled_rule.h"
#include "match/limit_cost.h"
#include "match/lists.h"
#include "match/pattern_table.h"
#include "match/rule_index.h"
#include "match/tier.h"
#include "rules/endpoint_templates.h"

namespace sluice::match {
namespace {

std::vector<const rules::Pattern*> PointersTo(const std::vector<rules::Pattern>& patterns) {
  std::vector<const rules::Pattern*> pointers;
  for (const rules::Pattern& pattern : patterns) pointers.push_back(&pattern);
  return pointers;
}

std::vector<const rules::Pattern*> PointersTo(const std::vector<rules::KeyTier>& keys) {
  std::vector<const rules::Pattern*> pointers;
  for (const rules::KeyTier& key : keys) pointers.push_back(&key.key);
  return pointers;
}

std::vector<const rules::Pattern*> PointersTo(const std::vector<rules::ModelPrice>& models) {
  std::vector<const rules::Pattern*> pointers;
  for (const rules::ModelPrice& model : models) pointers.push_back(&model.model);
  return pointers;
}

}  // namespace

struct RuleSet::Compiled {
  explicit Compiled(const rules::RuleFile& file)
      : deny(file.deny),
        allow(file.allow),
        known_keys(PointersTo(file.known_keys)),
        keys(PointersTo(file.keys)),
        models(PointersTo(file.models)),
        templates(file.endpoints) {
    RegexPool regexes;
    std::vector<const rules::Rule*> enabled;
    rules.reserve(file.rules.size());
    for (const rules::Rule& rule : file.rules) {
      if (!rule.enabled) continue;
      enabled.push_back(&rule);
      rules.emplace_back(rule, slots, regexes);
    }
    if (!file.models.empty()) slots.Intern("model");  // Prices depend on it.
    index = RuleIndex(enabled, slots);
    host = slots.Find("host");
  }

  Slots slots;
  Slot host = kNoSlot;  ///< kNoSlot: no rule looks at it.
  AccessList deny;
  AccessList allow;
  PatternTable known_keys;
  PatternTable keys;
  PatternTable models;
  rules::EndpointTemplates templates;
  std::vector<CompiledRule> rules;
  RuleIndex index;
};

void Match::Clear(std::size_t slots) {
  listed_ = Listed::kNo;
  list_entry_ = nullptr;
  limits_.clear();
  refused_ = false;
  matched_ = false;
  lacking_.clear();
  tier_ = {};
  candidates_.clear();
  text_.clear();
  rests_.clear();
  // Only what the last call had is cleared: there may be many slots. Another rule set may have
  // other slots, but not other rests of a call.
  for (const Slot slot : call_.present) call_.values[slot] = {};
  call_.present.clear();
  if (call_.values.size() < slots) {
    call_.values.resize(slots);
    call_.hashes.resize(slots);
  }
}

std::shared_ptr<const RuleSet> RuleSet::Compile(rules::RuleFile file) {
  for (rules::Rule& rule : file.rules) rule.denial_of_missing = MakeDenialOfMissing(rule);
  return std::shared_ptr<const RuleSet>(new RuleSet(std::move(file)));
}

RuleSet::RuleSet(rules::RuleFile file)
    : file_(std::move(file)), compiled_(std::make_unique<const Compiled>(file_)) {}

RuleSet::~RuleSet() = default;

void RuleSet::ReadCall(Attributes attributes, MatchInput& call) const {
  for (const Attribute& attribute : attributes) {
    const Slot slot = compiled_->slots.Find(attribute.name);
    // An empty value differs from a missing one by its address: the first counts.
    if (slot == kNoSlot || call.values[slot].data() != nullptr) continue;
    call.values[slot] = attribute.value.empty() ? std::string_view("") : attribute.value;
    call.present.push_back(slot);
  }
  call.raw_key = call[kApiKeySlot];
  call.address.reset();
  if (call.Has(kIpSlot)) {
    call.address = ParseAddress(call[kIpSlot]);
    // One address, one text: what is written in different ways must not be different budgets.
    // A plain IPv4 address, which has a '.' this early, can only be written in one way.
    if (call.address && call[kIpSlot].substr(0, 4).find('.') == std::string_view::npos) {
      call.values[kIpSlot] = FormatAddress(*call.address, call.address_text);
    }
  }
  if (const Slot host = compiled_->host; host != kNoSlot && call.Has(host)) {
    call.values[host] = NormalizeHost(call[host], call.host_text);
  }
  if (!file_.known_keys.empty() && call.Has(kApiKeySlot) &&
      compiled_->known_keys.Find(call.raw_key) == PatternTable::kNone) {
    call.values[kApiKeySlot] = "";
  }
}

void RuleSet::FindTier(MatchInput& call) const {
  call.tier_known = call.Has(kTierSlot) && IsTier(file_, call[kTierSlot]);
  if (call.tier_known) return;
  if (call.Has(kTierSlot)) call.values[kTierSlot] = "";
  std::string_view tier = file_.default_tier;
  if (!file_.keys.empty() && call.Has(kApiKeySlot)) {
    const std::uint32_t found = compiled_->keys.Find(call[kApiKeySlot]);
    if (found != PatternTable::kNone) {
      tier = file_.keys[found].tier;
      call.tier_known = true;
    }
  }
  if (tier.empty()) return;
  if (call.values[kTierSlot].data() == nullptr) call.present.push_back(kTierSlot);
  call.values[kTierSlot] = tier;
}

bool RuleSet::MatchLists(Match& match) const {
  const MatchInput& call = match.call_;
  match.list_entry_ = compiled_->deny.Find(call.raw_key, call.address);
  if (match.list_entry_ != nullptr) {
    match.listed_ = Listed::kDenied;
    return true;
  }
  match.list_entry_ = compiled_->allow.Find(call[kApiKeySlot], call.address);
  if (match.list_entry_ != nullptr) match.listed_ = Listed::kAllowed;
  return match.list_entry_ != nullptr;
}

void RuleSet::Find(Attributes attributes, const Usage& usage, WallTime now, Match& match) const {
  match.Clear(compiled_->slots.size());
  MatchInput& call = match.call_;
  ReadCall(attributes, call);
  FindTier(call);
  match.tier_ = call[kTierSlot];
  if (MatchLists(match)) return;
  call.endpoint_template = {};
  if (call.Has(kEndpointSlot)) {
    const std::string_view path = PathOf(call[kEndpointSlot]);
    call.values[kEndpointSlot] = path;
    if (!path.empty()) call.endpoint_template = compiled_->templates.Find(path);
  }
  if (usage.is_by_quantity && !CheckQuantities(usage, match)) return;
  MatchRules(usage, now, match);
}

const rules::Count* RuleSet::PriceOf(std::string_view model) const {
  const std::uint32_t found = model.empty() ? PatternTable::kNone : compiled_->models.Find(model);
  return found == PatternTable::kNone ? nullptr : &file_.models[found].price;
}

bool RuleSet::CheckQuantities(const Usage& usage, Match& match) const {
  for (const UsedQuantity& used : usage.quantities) {
    const bool is_known =
        std::binary_search(file_.quantities.begin(), file_.quantities.end(), used.name);
    if (is_known && used.amount >= 0 && used.amount <= kMaxAmount) continue;
    match.refused_ = true;
    match.matched_ = true;
    match.refusal_ = {.error = is_known ? ErrorCode::kInvalidCost : ErrorCode::kUnknownQuantity,
                      .cost = used.amount,
                      .quantity = used.name,
                      .file = &file_};
    return false;
  }
  return true;
}

void RuleSet::MatchRules(const Usage& usage, WallTime now, Match& match) const {
  std::vector<std::uint32_t>& found = match.candidates_;
  compiled_->index.Find(match.call_, found);
  std::sort(found.begin(), found.end());
  // Both lists are in order; so must be what they give together.
  const std::span<const std::uint32_t> always = compiled_->index.always();
  auto next_always = always.begin();
  auto next_found = found.begin();
  while (next_always != always.end() || next_found != found.end()) {
    std::uint32_t rule = 0;
    if (next_found == found.end() || (next_always != always.end() && *next_always < *next_found)) {
      rule = *next_always++;
    } else {
      rule = *next_found;
      while (next_found != found.end() && *next_found == rule) ++next_found;
    }
    if (MatchRule(rule, usage, now, match) == ScanStep::kStop) break;
  }
  for (const Match::Rest& rest : match.rests_) {
    const std::string_view text = std::string_view(match.text_).substr(rest.begin, rest.size);
    const rules::Rule* rule = match.limits_[rest.first_limit].rule;
    for (std::size_t i = rest.first_limit; i < match.limits_.size(); ++i) {
      if (match.limits_[i].rule != rule) break;
      match.limits_[i].key.rest = text;
    }
  }
}

RuleSet::ScanStep RuleSet::MatchRule(std::uint32_t number, const Usage& usage, WallTime now,
                                     Match& match) const {
  const CompiledRule& compiled = compiled_->rules[number];
  const rules::Rule& rule = compiled.rule();
  const MatchInput& call = match.call_;
  if (!compiled.IsInForce(now) || !compiled.Holds(call)) return ScanStep::kGoOn;
  const std::string_view tier = compiled.TierOf(call);
  Whose whose;
  std::span<const rules::NamedLimit> limits;
  const bool has_budget = compiled.budget().Find(call, tier, match.text_, whose);
  Cohort cohort = Cohort::kAll;
  if (compiled.has_rollout()) {
    // Calls that lack an attribute may share a budget, so they are all in one cohort.
    cohort = CohortOf(*rule.rollout, rule.id,
                      has_budget ? compiled.budget().RolloutValue(call, tier) : std::string_view());
    if (cohort == Cohort::kOld && !rule.rollout->has_from) return ScanStep::kGoOn;
  }
  if (has_budget) {
    limits = compiled.LimitsFor(whose.owner, tier, cohort);
  } else {
    match.lacking_.push_back(&rule);
    const rules::OnMissing on_missing = rule.on_missing.value_or(rules::OnMissing::kSkip);
    if (on_missing == rules::OnMissing::kDeny) limits = rule.denial_of_missing;
    if (on_missing == rules::OnMissing::kShared) limits = compiled.LimitsFor({}, tier, cohort);
  }
  bool is_matched = false;
  const std::size_t first = match.limits_.size();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const rules::NamedLimit& limit = limits[i];
    if (compiled.has_partial_limits() && !AppliesAt(limit, now)) continue;
    is_matched = true;
    LimitCost cost = CostOf(limit, usage, *this, compiled_->slots, call);
    if (!cost.refusal) {
      match.limits_.push_back(
          {.rule = &rule,
           .limit = &limit,
           .key = {.scope = compiled.scopes()[i], .tag = whose.tag, .rest = whose.fixed_rest},
           .cost = cost.amount,
           .cohort = cohort,
           .count = cost.count});
      continue;
    }
    if (limit.shadow && !rule.shadow) continue;
    match.limits_.resize(first);
    if (rule.shadow) break;
    match.refused_ = true;
    match.matched_ = true;
    match.refusal_ = *cost.refusal;
    match.refusal_.rule = &rule;
    match.refusal_.limit = &limit;
    match.limits_.clear();
    match.rests_.clear();
    return ScanStep::kStop;
  }
  if (!is_matched) return ScanStep::kGoOn;
  match.matched_ = true;
  if (match.text_.size() > whose.begin && match.limits_.size() > first) {
    match.rests_.push_back(
        {.first_limit = first, .begin = whose.begin, .size = match.text_.size() - whose.begin});
  }
  return compiled.final() ? ScanStep::kStop : ScanStep::kGoOn;
}

}  // namespace sluice::match
