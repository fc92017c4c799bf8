#include "api/envoy_check.h"

#include <algorithm>

#include "algo/state.h"

namespace sluice::api {
namespace {

using envoy::Unit;
using limiter::Question;
using limiter::Terms;
using store::Operation;

// As if it had been taken just now, so that it can be given back.
Receipt TakenNow(const Limit& limit, std::int64_t amount, WallTime now) {
  algo::State state = algo::Fresh(limit.numbers(), now);
  algo::Advance(limit.numbers(), now, state);
  return {.amount = amount, .at = state.at};
}

// Slots are not given back by number, and what lets nobody pass has nothing to be given back to.
bool CanBeGivenBack(const rules::NamedLimit& named) {
  return !named.reject_all && named.limit.algorithm() != Algorithm::kConcurrency;
}

std::int64_t HitsOf(const EnvoyRequest& request, const EnvoyDescriptor& descriptor) {
  const std::uint64_t hits = descriptor.hits           ? *descriptor.hits
                             : request.hits_addend > 0 ? request.hits_addend
                                                       : 1;
  return static_cast<std::int64_t>(std::min(hits, std::uint64_t{kMaxAmount}));
}

}  // namespace

bool EnvoyCheck::is_large() const {
  constexpr std::size_t kMostDescriptorsKept = 32;
  constexpr std::size_t kMostEntriesKept = 256;
  return request.descriptors.capacity() > kMostDescriptorsKept ||
         request.entries.capacity() > kMostEntriesKept;
}

std::string_view EnvoyCheck::Meet(EnvoyDesk& desk, Host& host, const Peer& peer) {
  desk_ = &desk;
  host_ = &host;
  now_ = host.now();
  is_denied_ = is_over_ = false;
  checks_ = refunds_ = 0;
  error_ = {};
  rows_.clear();
  if (request.domain.empty()) return "rate limit domain must not be empty";
  if (request.descriptors.empty()) return "rate limit descriptor list must not be empty";
  if (request.is_too_long()) return "a request has at most 1000 descriptors and 10000 entries";
  rows_.resize(request.descriptors.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].hits = HitsOf(request, request.descriptors[i]);
  }
  config_ = desk.Config();
  const envoy::Domain* const domain =
      config_ != nullptr ? config_->FindDomain(request.domain) : nullptr;
  const bool by_rules = desk.IsRuleDomain(request.domain, domain != nullptr);
  rules_ = by_rules ? host.limiter().rules().Get() : nullptr;
  std::string_view mistake;
  if (by_rules) {
    mistake = MeetRules(host, peer);
  } else if (domain != nullptr) {
    mistake = MeetConfig(desk, *domain);
  }
  if (!mistake.empty()) return mistake;
  for (const Row& row : rows_) {
    is_denied_ = is_denied_ || row.kind == Kind::kDenied;
    if (row.kind == Kind::kChecked) checks_ += row.uses;
    if (row.kind == Kind::kGivenBack) refunds_ += row.uses;
  }
  if (std::max(checks_, refunds_) > kMaxLimitsPerCall) {
    return "at most 128 limits are judged at once";
  }
  return {};
}

// ---- By the configuration.

std::string_view EnvoyCheck::MeetConfig(EnvoyDesk& desk, const envoy::Domain& domain) {
  if (keys_.size() < rows_.size()) keys_.resize(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const EnvoyDescriptor& descriptor = request.descriptors[i];
    Row& row = rows_[i];
    if (descriptor.limit) {
      if (const auto mistake = MeetOverride(desk, domain, i); !mistake.empty()) return mistake;
    } else {
      row.node = domain.Find(request.EntriesOf(descriptor), keys_[i]);
      if (row.node == nullptr) continue;
      if (row.node->unlimited) row.kind = Kind::kUnlimited;
      if (row.node->unlimited || (descriptor.gives_back && !CanBeGivenBack(row.node->limit()))) {
        continue;
      }
    }
    row.kind = descriptor.gives_back ? Kind::kGivenBack : Kind::kChecked;
    row.uses = 1;
  }
  DropReplaced();
  return {};
}

std::string_view EnvoyCheck::MeetOverride(EnvoyDesk& desk, const envoy::Domain& domain,
                                          std::size_t at) {
  const EnvoyOverride& limit = *request.descriptors[at].limit;
  constexpr auto kLastUnit = static_cast<std::uint32_t>(Unit::kYear);
  if (limit.unit == 0 || limit.unit > kLastUnit) {
    return "the limit of a descriptor has no unit that there is";
  }
  const auto unit = static_cast<Unit>(limit.unit);
  Row& row = rows_[at];
  const LimitCache::Numbers numbers{limit.requests_per_unit, limit.unit, 0, 0};
  const Limit* found = desk.limits().Find(numbers);
  if (found == nullptr) {
    found = desk.limits().Keep(
        numbers, *Limit::FixedWindow({.limit = std::max<std::int64_t>(limit.requests_per_unit, 1),
                                      .window = LengthOf(unit)}));
  }
  row.own = *found;
  row.own_numbers = limit;
  domain.KeyOf(request.EntriesOf(request.descriptors[at]), keys_[at], unit);
  return {};
}

// A limit that another one of the request replaces is not looked at.
void EnvoyCheck::DropReplaced() {
  for (const Row& replacing : rows_) {
    if (replacing.node == nullptr) continue;
    for (const std::string& name : replacing.node->replaces) {
      for (Row& row : rows_) {
        if (row.node != nullptr && row.node != replacing.node && row.node->name == name) {
          row.kind = Kind::kNone;
        }
      }
    }
  }
}

// ---- By our own rules.

std::string_view EnvoyCheck::MeetRules(Host& host, const Peer& peer) {
  if (rules_ == nullptr) return {};
  while (callers_.size() < rows_.size()) {
    callers_.push_back(std::make_unique<Question>());
    matches_.push_back(std::make_unique<rules::Match>());
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (const auto mistake = MeetRule(host, peer, i); !mistake.empty()) return mistake;
  }
  return {};
}

std::string_view EnvoyCheck::MeetRule(Host& host, const Peer& peer, std::size_t at) {
  const EnvoyDescriptor& descriptor = request.descriptors[at];
  if (descriptor.limit) return "descriptors that our own rules judge bring no limits";
  Question& caller = *callers_[at];
  caller.Clear();
  AddCertificate(peer, caller);
  caller.Add("domain", request.domain);
  for (const envoy::Entry& entry : request.EntriesOf(descriptor)) {
    caller.Add(entry.key, entry.value);
  }
  AddCounted(host.identifier(), caller);
  Row& row = rows_[at];
  rules::Match& match = *matches_[at];
  rules_->Find(caller.GatherAttributes(), row.hits, match);
  if (match.refusal() != nullptr) return "a rule does not take what a descriptor costs";
  const bool denied = match.listed() == rules::Listed::kDenied ||
                      (match.listed() == rules::Listed::kNo && !match.met() &&
                       rules_->file().otherwise == rules::Default::kDeny);
  if (denied) row.kind = Kind::kDenied;
  if (match.limits().empty()) return {};
  row.kind = descriptor.gives_back ? Kind::kGivenBack : Kind::kChecked;
  row.uses = match.limits().size();
  if (row.kind == Kind::kChecked) return {};
  for (const rules::MetLimit& met : match.limits()) {
    if (!CanBeGivenBack(*met.limit)) --row.uses;
  }
  return {};
}

// ---- The questions.

void EnvoyCheck::FillCheck(Question& question) { Fill(Kind::kChecked, question); }

void EnvoyCheck::FillRefund(Question& question) {
  question.operation = Operation::kAdjust;
  Fill(Kind::kGivenBack, question);
}

void EnvoyCheck::Fill(Kind kind, Question& question) {
  question.SetHolder([](void* check) { return static_cast<const EnvoyCheck*>(check)->Hold(); },
                     this);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].kind == kind) AddUses(rows_[i], i, question);
  }
}

void EnvoyCheck::AddUses(Row& row, std::size_t at, Question& question) {
  row.first_use = question.own_limits();
  const bool gives_back = row.kind == Kind::kGivenBack;
  // A look says whether one more would pass.
  const bool only_looks = row.hits == 0;
  const std::int64_t cost = gives_back ? 0 : std::max<std::int64_t>(row.hits, 1);
  if (row.own) {
    const bool bans = row.own_numbers.requests_per_unit == 0;
    question.AddLimit(keys_[at].key(), *row.own, bans && !gives_back ? kMaxAmount : cost,
                      Terms{.only_looks = only_looks || bans});
    if (gives_back) question.SetReceipt(TakenNow(*row.own, row.hits, now_));
    return;
  }
  if (rules_ == nullptr) {
    const envoy::Node& node = *row.node;
    const Mode mode = node.rule.shadow  ? Mode::kShadow
                      : node.quota_mode ? Mode::kQuota
                                        : Mode::kEnforce;
    question.AddMet(
        {.rule = &node.rule, .limit = &node.limit(), .key = keys_[at].key(), .cost = cost},
        {.mode = mode, .count_denied = node.count_denied, .only_looks = only_looks});
    if (gives_back) question.SetReceipt(TakenNow(node.limit().limit, row.hits, now_));
    return;
  }
  for (const rules::MetLimit& met : matches_[at]->limits()) {
    if (gives_back && !CanBeGivenBack(*met.limit)) continue;
    rules::MetLimit use = met;
    if (gives_back) use.cost = 0;
    if (only_looks) use.cost = std::max<std::int64_t>(met.cost, 1);
    question.AddMet(
        use, {.mode = met.rule->shadow ? Mode::kShadow : Mode::kEnforce, .only_looks = only_looks});
    if (gives_back) question.SetReceipt(TakenNow(met.limit->limit, met.cost, now_));
  }
}

std::shared_ptr<const void> EnvoyCheck::Hold() const {
  if (rules_ == nullptr) return desk_->Hold(config_);
  const auto& held = host_->limiter().rules().held();
  if (held.get() == rules_) return held;
  // They were replaced since. The last ones are kept.
  for (const rules::RulesVersion& version : host_->rules().Versions()) {
    if (version.rules.get() == rules_) return version.rules;
  }
  return {};
}

}  // namespace sluice::api
