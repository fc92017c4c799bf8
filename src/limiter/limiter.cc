#include "limiter/limiter.h"

#include <array>
#include <cassert>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/random.h"
#include "base/wide_math.h"
#include "limiter/decision.h"
#include "store/decide.h"

namespace sluice::limiter {
namespace {

using store::Completion;
using store::KeyUse;
using store::Operation;

bool IsConcurrency(const Limit& limit) { return limit.algorithm() == Algorithm::kConcurrency; }

// Whether an operation by rules applies to this limit.
bool Concerns(Operation operation, const rules::NamedLimit& named) {
  switch (operation) {
    case Operation::kGrant:
      return !IsConcurrency(named.limit) && !named.reject_all;
    case Operation::kAdjust:
      return !IsConcurrency(named.limit);
    case Operation::kRelease:
    case Operation::kRenew:
      return IsConcurrency(named.limit);
    default:
      return true;
  }
}

bool IsAboutSlots(Operation operation) {
  return operation == Operation::kRelease || operation == Operation::kRenew;
}

void ChooseSlot(CheckRequest& check) {
  if (check.slot == 0 && check.operation == Operation::kCheck) check.slot = RandomId();
}

// A limit that rejects all calls has no meaningful numbers.
void LetNothingFit(KeyUse& use) {
  static const Limit kOne = *Limit::FixedWindow({.limit = 1, .window = std::chrono::seconds(1)});
  use.limit = &kOne;
  use.cost = kMaxAmount;
  use.only_looks = true;
}

Completion Settle(CheckRequest& check, Ruling ruling, bool allowed) {
  check.ruling = ruling;
  check.allowed = allowed;
  return Completion::kNow;
}

Completion Refuse(CheckRequest& check, ErrorCode error) {
  check.error = error;
  return Settle(check, Ruling::kInvalid, false);
}

// Rules set the cost of checks only.
match::Usage UsageOf(CheckRequest& check) {
  if (!Takes(check.operation)) return {0};
  match::Usage usage =
      check.is_by_quantity() ? match::Usage(check.GatherQuantities()) : match::Usage(check.cost);
  usage.only_looks = check.operation == Operation::kPeek;
  return usage;
}

std::int64_t InParts(std::int64_t units, std::int64_t scale) {
  return units <= kMaxAmount / scale ? units * scale : kMaxAmount;
}

void ShowInUnits(std::int64_t scale, Verdict& verdict) {
  verdict.limit /= scale;
  verdict.remaining /= scale;
}

void ShowInUnits(std::int64_t scale, store::Inspection& inspection) {
  inspection.level = FloorDiv(inspection.level, scale);
  inspection.grant /= scale;
  inspection.expiring_grant /= scale;
  inspection.leased /= scale;
}

bool AnyRejectsAll(const CheckRequest& check) {
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const rules::NamedLimit* limit = check.matched(i).limit;
    if (limit != nullptr && limit->reject_all && check.uses()[i].mode == Mode::kEnforce) {
      return true;
    }
  }
  return false;
}

}  // namespace

Completion Limiter::Decide(CheckRequest& check, WallTime now) {
  if (!Begin(check, rules_.Get(), now)) return Completion::kNow;
  return End(check, store_.Submit(check.call_));
}

void Limiter::DecideBatch(std::span<CheckRequest* const> checks, WallTime now) {
  assert(checks.size() <= kMostAtOnce);
  const Snapshot<match::RuleSet>& rules = rules_.Get();
  std::array<store::StoreCall*, kMostAtOnce> calls;
  std::size_t count = 0;
  for (CheckRequest* const check : checks) {
    if (Begin(*check, rules, now)) calls[count++] = &check->call_;
  }
  const std::span<store::StoreCall* const> asked(calls.data(), count);
  store_.SubmitBatch(asked);
  for (store::StoreCall* const call : asked) {
    End(*static_cast<CheckRequest*>(call->context),
        call->pending ? Completion::kLater : Completion::kNow);
  }
}

// Once the store has been asked.
Completion Limiter::End(CheckRequest& check, Completion completion) {
  if (completion == Completion::kNow) {
    Conclude(check);
  } else {
    check.waited_ = true;
  }
  return completion;
}

// False: it is decided, without the store.
bool Limiter::Begin(CheckRequest& check, const Snapshot<match::RuleSet>& rules, WallTime now) {
  check.is_sampled_ = observer_ != nullptr && observer_->SamplesThis(check);
  if (check.is_sampled_) check.asked_ = SteadyClock::NowInNanos();
  check.asked_at_ = now;
  check.took_ = check.store_took_ = std::chrono::nanoseconds{0};
  check.waited_ = false;
  check.degraded = false;
  check.full = FullOutcome::kNone;
  check.affected = 0;
  check.decision = {};
  check.limiter_ = this;
  check.uses_.clear();
  check.matched_.clear();
  check.call_.pending = false;
  check.is_matched_ = false;
  check.is_by_attributes_ = false;
  check.entry_ = nullptr;
  check.adjusted_.clear();
  check.has_parts_ = false;
  bool asks_store = false;
  if (check.own_.empty()) {
    check.snapshot_ = rules;
    asks_store = MatchRules(check, rules.get(), now);
  } else {
    asks_store = AddOwnLimits(check, now);
  }
  if (!asks_store) return false;
  if (check.operation == Operation::kInspect) check.MakeRoomForInspections();
  check.call_ = {
      .operation = check.operation, .uses = check.uses_, .now = now, .timeout = check.timeout};
  check.call_.context = &check;
  check.call_.on_done = [](store::StoreCall& /*call*/, void* context) {
    CheckRequest& done = *static_cast<CheckRequest*>(context);
    done.limiter_->Conclude(done);
    if (done.on_done != nullptr) done.on_done(done, done.context);
  };
  if (check.is_sampled_) check.submitted_ = SteadyClock::NowInNanos();
  return true;
}

// False: it is decided, without any limit.
bool Limiter::MatchRules(CheckRequest& check, const match::RuleSet* rules, WallTime now) {
  const match::Attributes attributes = check.GatherAttributes();
  check.is_by_attributes_ = true;
  const bool takes = Takes(check.operation);
  const match::FoundEntries found = FindEntries(attributes, now);
  if (!found.empty() && IsBlocked(check, found, now)) return false;
  if (rules == nullptr) {
    if (!IsExempted(check, found, now)) Settle(check, Ruling::kNoRule, true);
    return false;
  }
  if (check.cost < 0) {
    Refuse(check, ErrorCode::kInvalidCost);
    return false;
  }
  rules->Find(attributes, UsageOf(check), RuleTime(now), check.match_);
  check.is_matched_ = true;
  const match::Match& match = check.match_;
  if (match.listed() != match::Listed::kNo && takes) {
    const bool allowed = match.listed() == match::Listed::kAllowed;
    Settle(check, allowed ? Ruling::kAllowListed : Ruling::kDenyListed, allowed);
    return false;
  }
  if (!found.empty() && IsExempted(check, found, now)) return false;
  const Enforcement enforcement = settings_.enforcement.load(std::memory_order_relaxed);
  if (takes && enforcement == Enforcement::kOff) {
    Settle(check, Ruling::kNotEnforced, true);
    return false;
  }
  if (!found.empty() && IsPenalized(check, found, {}, now)) return false;
  if (match.refusal() != nullptr) {
    Refuse(check, match.refusal()->error);
    return false;
  }
  if (!AddMatchedUses(check, found, now)) return false;
  if (check.uses_.empty()) {
    Settle(check, Ruling::kNoRule, rules->file().otherwise == rules::DefaultAction::kAllow);
    return false;
  }
  return !(takes && DeniedByRejection(check));
}

// Limits that reject all calls need no store.
bool Limiter::DeniedByRejection(CheckRequest& check) {
  if (!AnyRejectsAll(check)) return false;
  for (std::size_t i = 0; i < check.uses_.size(); ++i) {
    check.uses_[i].verdict = {};
    const rules::NamedLimit* const limit = check.matched_[i].limit;
    if (limit == nullptr || !limit->reject_all) continue;
    check.uses_[i].verdict = {.outcome = Outcome::kNeverFits, .retry_after = kMaxWait};
    check.decision = {.index = static_cast<std::uint16_t>(i), .tightest = check.uses_[i].verdict};
  }
  Settle(check, Ruling::kDecided, false);
  return true;
}

// False: it is decided by a live entry.
bool Limiter::AddMatchedUses(CheckRequest& check, match::FoundEntries found, WallTime now) {
  const bool all_shadow =
      settings_.enforcement.load(std::memory_order_relaxed) == Enforcement::kShadow;
  const bool takes = Takes(check.operation);
  const match::LiveEntry* exemption = nullptr;
  for (const match::MatchedLimit& matched : check.match_.limits()) {
    if (!Concerns(check.operation, *matched.limit)) continue;
    if (!check.only_rule.empty() && matched.rule->id != check.only_rule) continue;
    const bool shadow = rules::IsShadow(*matched.rule, *matched.limit) || all_shadow;
    const Mode mode = shadow ? Mode::kShadow : Mode::kEnforce;
    if (found.empty()) {
      AddUse(check, matched, mode);
      continue;
    }
    match::EntryTarget target = match::TargetOf(*matched.rule, *matched.limit);
    target.penalties = match::PenaltiesOf(check.match_);
    if (takes && Block(check, match::FindBlock(found, target.rule), now)) return false;
    if (const match::LiveEntry* const allow = match::FindAllow(found, target); takes && allow) {
      exemption = allow;
      Note(check, *allow, now);
      continue;
    }
    if (IsPenalized(check, found, target.rule, now)) return false;
    Adjust(check, found, target, AddUse(check, matched, mode), now);
  }
  if (exemption == nullptr || !check.uses_.empty()) return true;
  check.entry_ = exemption;
  check.entries_ = entries_->current();
  Settle(check, Ruling::kExempted, true);
  return false;
}

KeyUse& Limiter::AddUse(CheckRequest& check, const match::MatchedLimit& matched, Mode mode) {
  KeyUse& use = check.uses_.emplace_back();
  use.key = matched.key;
  use.limit = &matched.limit->limit;
  const bool takes = Takes(check.operation);
  use.cost = takes ? matched.cost : InParts(check.cost, matched.limit->scale);
  if (takes && check.is_by_quantity_ && use.cost == 0) {
    // Nothing is taken now, but maybe later: a limit that has nothing left denies.
    use.cost = 1;
    use.only_looks = true;
    check.has_parts_ = true;
  }
  check.has_parts_ |= matched.limit->scale != 1;
  use.mode = mode;
  use.receipt.grant_expires = check.grant_expires;
  use.may_lease = matched.rule->consistency == rules::Consistency::kLeased;
  use.series = matched.limit->number;
  if (matched.limit->reject_all && Takes(check.operation)) LetNothingFit(use);
  if (IsConcurrency(*use.limit)) {
    ChooseSlot(check);
    use.slot = check.slot;
  }
  check.matched_.push_back(matched);
  return use;
}

// The same for limits that the caller brings or has matched: the operator's switch is for them,
// too.
bool Limiter::AddOwnLimits(CheckRequest& check, WallTime now) {
  const Enforcement enforcement = settings_.enforcement.load(std::memory_order_relaxed);
  const bool takes = Takes(check.operation);
  if (takes && enforcement == Enforcement::kOff) {
    if (!IsCallerKeyBlocked(check, now)) Settle(check, Ruling::kNotEnforced, true);
    return false;
  }
  const bool shadow = takes && enforcement == Enforcement::kShadow;
  std::size_t exempted = 0;
  for (CheckRequest::OwnLimit& own : check.own_) {
    KeyUse& use = check.uses_.emplace_back();
    use.key = {
        .scope = check.Text(own.scope), .tag = check.Text(own.tag), .rest = check.Text(own.rest)};
    use.limit = &own.limit;
    use.cost = own.cost;
    use.mode = shadow ? Mode::kShadow : own.terms.mode;
    use.count_denied = own.terms.count_denied;
    use.only_looks = own.terms.only_looks;
    use.receipt = own.receipt;
    use.settlement = own.settles ? &own.settlement : nullptr;
    use.kind = IsOverflowKey(use.key) ? store::KeyKind::kOverflow
               : own.of_rule          ? store::KeyKind::kOrdinary
                                      : store::KeyKind::kFromCaller;
    if (own.rule != nullptr) {
      use.may_lease = own.rule->consistency == rules::Consistency::kLeased;
      use.series = own.named->number;
      check.has_parts_ |= own.named->scale != 1;
      if (takes && own.named->reject_all) LetNothingFit(use);
      if (IsConcurrency(own.limit)) ChooseSlot(check);
    }
    if (IsConcurrency(own.limit)) use.slot = check.slot;
    check.matched_.push_back(
        {.rule = own.rule, .limit = own.named, .key = use.key, .cost = own.cost});
    if (entries_ == nullptr || !own.has_caller_key) continue;
    const EntryStep step = ApplyToOwn(check, own, use, now);
    if (step == EntryStep::kBlocked) return false;
    if (step == EntryStep::kExempted) ++exempted;
  }
  if (exempted == check.own_.size() && exempted > 0) {
    check.uses_.clear();
    Settle(check, Ruling::kExempted, true);
    return false;
  }
  check.entry_ = nullptr;
  if (takes && DeniedByRejection(check)) return false;
  return settings_.caller_keys == nullptr || AdmitCallerKeys(check, now);
}

// The store counts parts of a limit's unit; callers see units.
void Limiter::ShowUnits(CheckRequest& check) {
  for (std::size_t i = 0; i < check.uses_.size(); ++i) {
    const match::MatchedLimit& matched = check.matched_[i];
    if (matched.limit == nullptr) continue;
    KeyUse& use = check.uses_[i];
    const std::int64_t scale = matched.limit->scale;
    const bool only_looked = check.is_by_quantity_ && matched.cost == 0 && use.cost == 1;
    use.cost = only_looked ? 0 : CeilDiv(use.cost, scale);
    ShowInUnits(scale, use.verdict);
    if (use.inspection != nullptr) ShowInUnits(scale, *use.inspection);
    if (i == check.decision.index) ShowInUnits(scale, check.decision.tightest);
  }
}

void Limiter::Conclude(CheckRequest& check) {
  Evaluate(check);
  if (check.has_parts_) ShowUnits(check);
  if (!check.is_sampled_) return;
  const std::chrono::nanoseconds done = SteadyClock::NowInNanos();
  check.took_ = done - check.asked_;
  check.store_took_ = done - check.submitted_;
  observer_->Took(check, {.whole = check.took_, .store = check.store_took_});
}

void Limiter::Evaluate(CheckRequest& check) {
  const store::StoreCall& call = check.call_;
  if (!call.ok) {
    check.error = call.error;
    if (store::IsCallError(call.error)) {
      check.uses_.clear();
      Settle(check, Ruling::kInvalid, false);
    } else if (call.error == ErrorCode::kStoreFull && check.operation == Operation::kCheck) {
      AnswerFull(check);
    } else {
      Degrade(check);
    }
    return;
  }
  if (settings_.caller_keys != nullptr && !check.own_.empty()) CountCallerKeys(check);
  if (call.affected == 0 && settings_.bounded_store && IsAboutSlots(call.operation)) {
    FindSharedSlots(store_, check.call_, check.matched_);
  }
  check.affected = call.affected;
  if (Takes(check.operation)) check.decision = DecisionOf(call, check.matched_);
  Settle(check, Ruling::kDecided, call.allowed);
}

}  // namespace sluice::limiter
