#include "api/envoy_check.h"

#include <algorithm>
#include <limits>

#include "algo/state.h"
#include "answer/http_answer.h"
#include "base/wide_math.h"

namespace sluice::api {
namespace {

using envoy::Unit;
using limiter::Question;
using limiter::Terms;
using store::Operation;

constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

std::uint32_t Clamped(std::int64_t amount) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(amount, 0, kMost));
}

// As if it had been taken just now, so that it can be given back.
Receipt TakenNow(const Limit& limit, std::int64_t amount, WallTime now) {
  algo::State state = algo::Fresh(limit.numbers(), now);
  algo::Advance(limit.numbers(), now, state);
  return {.amount = amount, .at = state.at};
}

bool IsConcurrency(const Limit& limit) { return limit.algorithm() == Algorithm::kConcurrency; }

bool RejectsAll(const rules::MetLimit& met) {
  return met.limit != nullptr && met.limit->reject_all;
}

std::int64_t HitsOf(const EnvoyRequest& request, const EnvoyDescriptor& descriptor) {
  const std::uint64_t hits = descriptor.hits           ? *descriptor.hits
                             : request.hits_addend > 0 ? request.hits_addend
                                                       : 1;
  return static_cast<std::int64_t>(std::min(hits, std::uint64_t{kMaxAmount}));
}

// What a caller is told of a question that makes no sense.
std::string_view Describe(ErrorCode error) {
  switch (error) {
    case ErrorCode::kInvalidLimit:
      return "two descriptors ask for one counter under different limits";
    case ErrorCode::kInvalidKey:
      return "the values of a descriptor are longer than 4096 bytes";
    default:
      return "the request can't be judged";
  }
}

}  // namespace

std::string_view EnvoyCheck::Meet(EnvoyDesk& desk, Host& host) {
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
    mistake = MeetRules(host);
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
      if (row.node->unlimited) {
        row.kind = Kind::kUnlimited;
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

std::string_view EnvoyCheck::MeetRules(Host& host) {
  if (rules_ == nullptr) return {};
  while (callers_.size() < rows_.size()) {
    callers_.push_back(std::make_unique<Question>());
    matches_.push_back(std::make_unique<rules::Match>());
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (const auto mistake = MeetRule(host, *rules_, i); !mistake.empty()) return mistake;
  }
  return {};
}

std::string_view EnvoyCheck::MeetRule(Host& host, const rules::RuleSet& rules, std::size_t at) {
  const EnvoyDescriptor& descriptor = request.descriptors[at];
  if (descriptor.limit) return "descriptors that our own rules judge bring no limits";
  Question& caller = *callers_[at];
  caller.Clear();
  caller.Add("domain", request.domain);
  for (const envoy::Entry& entry : request.EntriesOf(descriptor)) {
    caller.Add(entry.key, entry.value);
  }
  AddCounted(host.identifier(), caller);
  Row& row = rows_[at];
  rules::Match& match = *matches_[at];
  rules.Find(caller.GatherAttributes(), row.hits, match);
  if (match.refusal() != nullptr) return "a rule does not take what a descriptor costs";
  const bool denied = match.listed() == rules::Listed::kDenied ||
                      (match.listed() == rules::Listed::kNo && !match.met() &&
                       rules.file().otherwise == rules::Default::kDeny);
  if (denied) row.kind = Kind::kDenied;
  if (match.limits().empty()) return {};
  row.kind = descriptor.gives_back ? Kind::kGivenBack : Kind::kChecked;
  row.uses = match.limits().size();
  if (row.kind == Kind::kChecked) return {};
  for (const rules::MetLimit& met : match.limits())
    row.uses -= IsConcurrency(met.limit->limit) ? 1 : 0;
  return {};
}

// ---- The questions.

void EnvoyCheck::FillCheck(Question& question) {
  question.SetHolder([](void* context) { return static_cast<const EnvoyCheck*>(context)->Hold(); },
                     this);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].kind == Kind::kChecked) AddUses(rows_[i], i, question);
  }
}

void EnvoyCheck::FillRefund(Question& question) {
  question.operation = Operation::kAdjust;
  question.SetHolder([](void* context) { return static_cast<const EnvoyCheck*>(context)->Hold(); },
                     this);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].kind == Kind::kGivenBack) AddUses(rows_[i], i, question);
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
    if (gives_back && IsConcurrency(met.limit->limit)) continue;
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

// ---- The answer.

void EnvoyCheck::TakeNote(const Question& question) {
  if (question.ruling == Ruling::kInvalid) {
    error_ = Describe(question.error);
    return;
  }
  const bool is_check = question.operation != Operation::kAdjust;
  if (is_check) is_over_ = !question.allowed;
  const Kind kind = is_check ? Kind::kChecked : Kind::kGivenBack;
  for (Row& row : rows_) {
    if (row.kind == kind && row.uses > 0) NoteRow(row, question);
  }
}

void EnvoyCheck::NoteRow(Row& row, const Question& question) const {
  row.over = false;
  for (std::size_t i = row.first_use; i < row.first_use + row.uses; ++i) {
    const std::int64_t cap = question.own_limit(i).cap();
    rules::MetLimit met;
    Verdict verdict{.limit = cap, .remaining = cap};
    bool over = false;
    if (!question.uses().empty()) {
      const store::Use& use = question.uses()[i];
      met = question.met(i);
      const bool closed =
          question.ruling == Ruling::kDegraded && !question.allowed && question.headline.index == i;
      // Where nothing was looked at, or nobody knows: as if never used.
      const bool is_known = use.verdict.outcome != Outcome::kAllowed || use.verdict.remaining > 0 ||
                            use.verdict.reset_after > Micros{0};
      if (is_known || closed) verdict = use.verdict;
      over = use.mode != Mode::kShadow && (closed || use.verdict.outcome != Outcome::kAllowed);
    }
    const bool says_more = i == row.first_use || (over && !row.over) ||
                           (over == row.over && verdict.remaining < row.verdict.remaining);
    if (!says_more) continue;
    row.told = met;
    row.limit = &question.own_limit(i);
    row.verdict = verdict;
    row.over = over;
  }
}

EnvoyCode EnvoyCheck::code() const {
  return is_denied_ || is_over_ ? EnvoyCode::kOverLimit : EnvoyCode::kOk;
}

EnvoyStatus EnvoyCheck::StatusOf(std::size_t descriptor) const {
  const Row& row = rows_[descriptor];
  switch (row.kind) {
    case Kind::kNone:
      return {};
    case Kind::kUnlimited:
      return {.remaining = kMost};
    case Kind::kDenied:
      return {.code = EnvoyCode::kOverLimit};
    case Kind::kChecked:
    case Kind::kGivenBack:
      break;
  }
  if (row.limit == nullptr) return {};
  EnvoyStatus status{.code = row.over ? EnvoyCode::kOverLimit : EnvoyCode::kOk, .has_limit = true};
  const bool bans = row.own ? row.own_numbers.requests_per_unit == 0
                            : row.node != nullptr && row.node->limit().reject_all;
  if (row.own) {
    status.requests_per_unit = row.own_numbers.requests_per_unit;
    status.unit = static_cast<Unit>(row.own_numbers.unit);
  } else if (row.node != nullptr) {
    status.requests_per_unit = row.node->requests_per_unit;
    status.unit = row.node->unit;
    status.name = row.node->name;
  } else if (row.told.rule != nullptr) {
    status.requests_per_unit = RejectsAll(row.told) ? 0 : Clamped(row.limit->cap());
    status.unit = envoy::UnitOf(row.told.limit->window);
    status.name = row.told.rule->id;
  }
  status.remaining = bans || RejectsAll(row.told) ? 0 : Clamped(row.verdict.remaining);
  status.reset_seconds = ResetOf(row);
  return status;
}

// Whole seconds, never too few. A window that nobody has used ends all the same.
std::int64_t EnvoyCheck::ResetOf(const Row& row) const {
  if (row.verdict.reset_after > Micros{0}) return SecondsOf(row.verdict.reset_after);
  const LimitNumbers& numbers = row.limit->numbers();
  const bool by_epoch =
      numbers.algorithm == Algorithm::kFixedWindow && numbers.anchor == Anchor::kEpoch;
  const Micros window = RejectsAll(row.told) ? row.told.limit->window
                        : by_epoch           ? numbers.window
                                             : Micros{0};
  return window > Micros{0} ? SecondsOf(window - now_.time_since_epoch() % window) : 0;
}

std::string_view EnvoyCheck::MetadataOf(std::size_t descriptor) const {
  const Row& row = rows_[descriptor];
  return row.node != nullptr && row.kind != Kind::kNone && !row.over ? row.node->metadata
                                                                     : std::string_view();
}

}  // namespace sluice::api
