#include "api/envoy/check.h"

#include <algorithm>

#include "algo/state.h"

namespace sluice::api {
namespace {

using envoy::Unit;
using limiter::CheckRequest;
using limiter::Terms;
using store::Operation;

// As if it had been taken just now, so that it can be given back.
Receipt TakenNow(const Limit& limit, std::int64_t amount, WallTime now) {
  algo::State state = algo::Fresh(limit.numbers(), now);
  algo::Advance(limit.numbers(), now, state);
  return {.amount = amount, .at = state.at};
}

// Slots are not given back by number, and a limit that rejects all calls has no state to refund.
bool CanBeGivenBack(const rules::NamedLimit& named) {
  return !named.reject_all && named.limit.algorithm() != Algorithm::kConcurrency;
}

bool MayGiveBack(envoy::NegativeHits allowed, Protocol protocol, bool by_rules) {
  if (allowed == envoy::NegativeHits::kEnvoyDomains)
    return protocol == Protocol::kGrpc && !by_rules;
  return allowed == envoy::NegativeHits::kOn;
}

std::int64_t HitsOf(const EnvoyRequest& request, const EnvoyDescriptor& descriptor) {
  const std::uint64_t hits = descriptor.hits           ? *descriptor.hits
                             : request.hits_addend > 0 ? request.hits_addend
                                                       : 1;
  return static_cast<std::int64_t>(std::min(hits, std::uint64_t{kMaxAmount}));
}

}  // namespace

void EnvoyCheck::Clear() {
  config_.Reset();
  rules_.Reset();
  entries_.clear();
  entry_set_.Reset();
}

bool EnvoyCheck::is_large() const {
  constexpr std::size_t kMostDescriptorsKept = 32;
  constexpr std::size_t kMostEntriesKept = 256;
  return request.descriptors.capacity() > kMostDescriptorsKept ||
         request.entries.capacity() > kMostEntriesKept;
}

std::string_view EnvoyCheck::Match(EnvoyState& state, ServerServices& services, const Peer& peer,
                                   Protocol protocol) {
  state_ = &state;
  services_ = &services;
  now_ = services.now();
  is_denied_ = is_over_ = false;
  checks_ = refunds_ = 0;
  error_ = {};
  rows_.clear();
  entries_.clear();
  if (request.domain.empty()) return "rate limit domain must not be empty";
  if (request.descriptors.empty()) return "rate limit descriptor list must not be empty";
  if (request.is_too_long()) return "a request has at most 1000 descriptors and 10000 entries";
  rows_.resize(request.descriptors.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].hits = HitsOf(request, request.descriptors[i]);
  }
  config_ = state.Config();
  const envoy::Domain* const domain = config_ ? config_->FindDomain(request.domain) : nullptr;
  const bool by_rules = state.IsRuleDomain(request.domain, domain != nullptr);
  const bool gives_back =
      std::any_of(request.descriptors.begin(), request.descriptors.end(),
                  [](const EnvoyDescriptor& descriptor) { return descriptor.gives_back; });
  if (gives_back && !MayGiveBack(state.options().negative_hits, protocol, by_rules)) {
    return "negative hits are refused here: see the setting negative_hits";
  }
  if (by_rules) {
    rules_ = services.limiter().rules().Get();
  } else {
    rules_.Reset();
  }
  std::string_view error;
  if (by_rules) {
    error = MatchRules(services, peer);
  } else if (domain != nullptr) {
    error = MatchConfig(state, *domain);
  }
  if (!error.empty()) return error;
  if (!rules_) FindEntriesByDescriptors();
  for (std::size_t i = 0; i < rows_.size(); ++i) ApplyEntries(rows_[i], i);
  for (const Row& row : rows_) {
    is_denied_ = is_denied_ || row.kind == Kind::kDenied;
    if (row.kind == Kind::kChecked) checks_ += row.uses;
    if (row.kind == Kind::kGivenBack) refunds_ += row.uses;
  }
  if (std::max(checks_, refunds_) > kMaxLimitsPerCall) {
    return "at most 128 limits are evaluated at once";
  }
  return {};
}

// ---- By the configuration.

std::string_view EnvoyCheck::MatchConfig(EnvoyState& state, const envoy::Domain& domain) {
  if (keys_.size() < rows_.size()) keys_.resize(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const EnvoyDescriptor& descriptor = request.descriptors[i];
    Row& row = rows_[i];
    if (descriptor.limit) {
      if (const auto error = MatchOverride(state, domain, i); !error.empty()) return error;
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

std::string_view EnvoyCheck::MatchOverride(EnvoyState& state, const envoy::Domain& domain,
                                           std::size_t at) {
  const EnvoyOverride& limit = *request.descriptors[at].limit;
  constexpr auto kLastUnit = static_cast<std::uint32_t>(Unit::kYear);
  if (limit.unit == 0 || limit.unit > kLastUnit) {
    return "the limit of a descriptor has no unit that there is";
  }
  const auto unit = static_cast<Unit>(limit.unit);
  Row& row = rows_[at];
  const LimitCache::Numbers numbers{limit.requests_per_unit, limit.unit, 0, 0};
  const Limit* found = state.limits().Find(numbers);
  if (found == nullptr) {
    const Limit made = *Limit::FixedWindow(
        {.limit = std::max<std::int64_t>(limit.requests_per_unit, 1), .window = LengthOf(unit)});
    if (!RefusalOf(made, state.limits().bounds()).empty()) {
      return "the limit of a descriptor takes longer to refill than limits in requests may "
             "(setting request_limits.max_refill_time)";
    }
    found = state.limits().Keep(numbers, made);
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

std::string_view EnvoyCheck::MatchRules(ServerServices& services, const Peer& peer) {
  if (!rules_) return {};
  while (callers_.size() < rows_.size()) {
    callers_.push_back(std::make_unique<CheckRequest>());
    matches_.push_back(std::make_unique<match::Match>());
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (const auto error = MatchRule(services, peer, i); !error.empty()) return error;
  }
  return {};
}

std::string_view EnvoyCheck::MatchRule(ServerServices& services, const Peer& peer, std::size_t at) {
  const EnvoyDescriptor& descriptor = request.descriptors[at];
  if (descriptor.limit) return "descriptors for Sluice's own rules can't carry limits";
  CheckRequest& caller = *callers_[at];
  caller.Clear();
  AddCertificate(peer, caller);
  caller.Add("domain", request.domain);
  for (const envoy::Entry& entry : request.EntriesOf(descriptor)) {
    caller.Add(entry.key, entry.value);
  }
  AddCounted(services.identifier(), caller);
  Row& row = rows_[at];
  match::Match& match = *matches_[at];
  FindEntries(at, caller.GatherAttributes());
  rules_->Find(caller.GatherAttributes(), row.hits, services.limiter().RuleTime(now_), match);
  if (match.refusal() != nullptr) return "a rule does not accept the cost of a descriptor";
  if (!descriptor.gives_back) {
    for (const rules::Rule* const rule : match.lacking()) services.CountMissing(*rule);
  }
  const bool denied = match.listed() == match::Listed::kDenied ||
                      (match.listed() == match::Listed::kNo && !match.matched() &&
                       rules_->file().otherwise == rules::DefaultAction::kDeny);
  if (denied) row.kind = Kind::kDenied;
  if (match.limits().empty()) return {};
  row.kind = descriptor.gives_back ? Kind::kGivenBack : Kind::kChecked;
  row.uses = match.limits().size();
  if (row.kind == Kind::kChecked) return {};
  for (const match::MatchedLimit& matched : match.limits()) {
    if (!CanBeGivenBack(*matched.limit)) --row.uses;
  }
  return {};
}

// ---- The checks.

void EnvoyCheck::FillCheck(CheckRequest& check) { Fill(Kind::kChecked, check); }

void EnvoyCheck::FillRefund(CheckRequest& check) {
  check.operation = Operation::kAdjust;
  Fill(Kind::kGivenBack, check);
}

void EnvoyCheck::Fill(Kind kind, CheckRequest& check) {
  if (rules_) {
    check.Keep(rules_);
  } else {
    check.Keep(config_);
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].kind == kind) AddUses(rows_[i], i, check);
  }
}

void EnvoyCheck::AddUses(Row& row, std::size_t at, CheckRequest& check) {
  row.first_use = check.own_limits();
  const bool gives_back = row.kind == Kind::kGivenBack;
  // A look says whether one more would pass.
  const bool only_looks = row.hits == 0;
  const std::int64_t cost = gives_back ? 0 : std::max<std::int64_t>(row.hits, 1);
  if (row.own) {
    const bool bans = row.own_numbers.requests_per_unit == 0;
    AddAdjusted(row, {.rejects_all = bans},
                {.key = keys_[at].key(), .cost = bans && !gives_back ? kMaxAmount : cost},
                {.only_looks = only_looks || bans}, check);
    if (gives_back) check.SetReceipt(TakenNow(check.last_limit(), row.hits, now_));
    return;
  }
  if (!rules_) {
    const envoy::Node& node = *row.node;
    const Mode mode = node.rule.shadow  ? Mode::kShadow
                      : node.quota_mode ? Mode::kQuota
                                        : Mode::kEnforce;
    AddAdjusted(row, match::TargetOf(node.rule, node.limit()),
                {.rule = &node.rule, .limit = &node.limit(), .key = keys_[at].key(), .cost = cost},
                {.mode = mode, .count_denied = node.count_denied, .only_looks = only_looks}, check);
    if (gives_back) check.SetReceipt(TakenNow(check.last_limit(), row.hits, now_));
    return;
  }
  for (const match::MatchedLimit& matched : matches_[at]->limits()) {
    if (gives_back && !CanBeGivenBack(*matched.limit)) continue;
    match::MatchedLimit use = matched;
    if (gives_back) use.cost = 0;
    if (only_looks) use.cost = std::max<std::int64_t>(matched.cost, 1);
    AddAdjusted(row, match::TargetOf(*matched.rule, *matched.limit), use,
                {.mode = IsShadow(*matched.rule, *matched.limit) ? Mode::kShadow : Mode::kEnforce,
                 .only_looks = only_looks},
                check);
    if (gives_back) check.SetReceipt(TakenNow(check.last_limit(), matched.cost, now_));
  }
}

}  // namespace sluice::api
