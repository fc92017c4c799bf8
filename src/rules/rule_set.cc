#include "rules/rule_set.h"

#include <algorithm>
#include <utility>

#include "rules/compiled_rule.h"
#include "rules/endpoint_templates.h"
#include "rules/lists.h"
#include "rules/pattern_table.h"
#include "rules/rule_index.h"
#include "rules/tier.h"

namespace sluice::rules {
namespace {

std::vector<const Pattern*> PointersTo(const std::vector<Pattern>& patterns) {
  std::vector<const Pattern*> pointers;
  for (const Pattern& pattern : patterns) pointers.push_back(&pattern);
  return pointers;
}

std::vector<const Pattern*> PointersTo(const std::vector<KeyTier>& keys) {
  std::vector<const Pattern*> pointers;
  for (const KeyTier& key : keys) pointers.push_back(&key.key);
  return pointers;
}

}  // namespace

struct RuleSet::Compiled {
  explicit Compiled(const RuleFile& file)
      : deny(file.deny),
        allow(file.allow),
        known_keys(PointersTo(file.known_keys)),
        keys(PointersTo(file.keys)),
        templates(file.endpoints) {
    RegexPool regexes;
    std::vector<const Rule*> enabled;
    rules.reserve(file.rules.size());
    for (const Rule& rule : file.rules) {
      if (!rule.enabled) continue;
      enabled.push_back(&rule);
      rules.emplace_back(rule, slots, regexes);
    }
    index = RuleIndex(enabled, slots);
  }

  Slots slots;
  AccessList deny;
  AccessList allow;
  PatternTable known_keys;
  PatternTable keys;
  EndpointTemplates templates;
  std::vector<CompiledRule> rules;
  RuleIndex index;
};

void Match::Clear(std::size_t slots) {
  listed_ = Listed::kNo;
  list_entry_ = nullptr;
  limits_.clear();
  refused_ = false;
  met_ = false;
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

std::shared_ptr<const RuleSet> RuleSet::Compile(RuleFile file) {
  return std::shared_ptr<const RuleSet>(new RuleSet(std::move(file)));
}

RuleSet::RuleSet(RuleFile file)
    : file_(std::move(file)), compiled_(std::make_unique<const Compiled>(file_)) {}

RuleSet::~RuleSet() = default;

void RuleSet::ReadCall(Attributes attributes, Call& call) const {
  for (const Attribute& attribute : attributes) {
    const Slot slot = compiled_->slots.Find(attribute.name);
    // A value that is there but empty is told from none by its address: the first counts.
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
  if (!file_.known_keys.empty() && call.Has(kApiKeySlot) &&
      compiled_->known_keys.Find(call.raw_key) == PatternTable::kNone) {
    call.values[kApiKeySlot] = "";
  }
}

void RuleSet::FindTier(Call& call) const {
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

bool RuleSet::LookAtLists(Match& match) const {
  const Call& call = match.call_;
  match.list_entry_ = compiled_->deny.Find(call.raw_key, call.address);
  if (match.list_entry_ != nullptr) {
    match.listed_ = Listed::kDenied;
    return true;
  }
  match.list_entry_ = compiled_->allow.Find(call[kApiKeySlot], call.address);
  if (match.list_entry_ != nullptr) match.listed_ = Listed::kAllowed;
  return match.list_entry_ != nullptr;
}

void RuleSet::Find(Attributes attributes, std::int64_t cost, Match& match) const {
  match.Clear(compiled_->slots.size());
  Call& call = match.call_;
  ReadCall(attributes, call);
  FindTier(call);
  match.tier_ = call[kTierSlot];
  if (LookAtLists(match)) return;
  call.endpoint_template = {};
  if (call.Has(kEndpointSlot)) {
    const std::string_view path = PathOf(call[kEndpointSlot]);
    call.values[kEndpointSlot] = path;
    if (!path.empty()) call.endpoint_template = compiled_->templates.Find(path);
  }
  LookAtRules(cost, match);
}

void RuleSet::LookAtRules(std::int64_t cost, Match& match) const {
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
    if (LookAtRule(rule, cost, match) == Next::kStop) break;
  }
  for (const Match::Rest& rest : match.rests_) {
    const std::string_view text = std::string_view(match.text_).substr(rest.begin, rest.size);
    const Rule* rule = match.limits_[rest.first_limit].rule;
    for (std::size_t i = rest.first_limit; i < match.limits_.size(); ++i) {
      if (match.limits_[i].rule != rule) break;
      match.limits_[i].key.rest = text;
    }
  }
}

RuleSet::Next RuleSet::LookAtRule(std::uint32_t number, std::int64_t cost, Match& match) const {
  const CompiledRule& compiled = compiled_->rules[number];
  const Rule& rule = compiled.rule();
  const Call& call = match.call_;
  if (!compiled.Holds(call)) return Next::kGoOn;
  const std::string_view tier = compiled.TierOf(call);
  Whose whose;
  if (!compiled.budget().Find(call, tier, match.text_, whose)) {
    match.lacking_.push_back(&rule);
    return Next::kGoOn;
  }
  const std::span<const NamedLimit> limits = compiled.LimitsFor(whose.owner, tier);
  if (limits.empty()) return Next::kGoOn;
  match.met_ = true;
  const std::size_t first = match.limits_.size();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const NamedLimit& limit = limits[i];
    const auto taken = CostOf(limit.cost, compiled_->slots, call, cost);
    if (taken) {
      match.limits_.push_back(
          {.rule = &rule,
           .limit = &limit,
           .key = {.scope = compiled.scopes()[i], .tag = whose.tag, .rest = whose.fixed_rest},
           .cost = *taken});
      continue;
    }
    match.limits_.resize(first);
    if (rule.shadow) break;
    std::string_view sent;
    if (!limit.cost.attribute.empty() && cost > 0) {
      sent = call[compiled_->slots.Find(limit.cost.attribute)];
    }
    match.refused_ = true;
    match.refusal_ = {.rule = &rule,
                      .limit = &limit,
                      .attribute = sent.empty() ? std::string_view() : limit.cost.attribute,
                      .sent = sent,
                      .cost = cost};
    match.limits_.clear();
    match.rests_.clear();
    return Next::kStop;
  }
  if (match.text_.size() > whose.begin && match.limits_.size() > first) {
    match.rests_.push_back(
        {.first_limit = first, .begin = whose.begin, .size = match.text_.size() - whose.begin});
  }
  return compiled.final() ? Next::kStop : Next::kGoOn;
}

}  // namespace sluice::rules
