#include "limiter/limiter.h"

#include <array>
#include <cassert>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/random.h"
#include "base/wide_math.h"
#include "lease/lease_table.h"
#include "limiter/headline.h"
#include "limiter/share.h"

namespace sluice::limiter {
namespace {

using store::Answered;
using store::Operation;
using store::Use;

// Nobody can tell when the store will be back; a second is as good as any.
constexpr Micros kTryAgain = std::chrono::seconds(1);

bool IsConcurrency(const Limit& limit) { return limit.algorithm() == Algorithm::kConcurrency; }

// Whether an operation by rules is about this limit; the others of the call are left alone.
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

bool Takes(Operation operation) {
  return operation == Operation::kCheck || operation == Operation::kPeek;
}

void ChooseSlot(Question& question) {
  if (question.slot == 0 && question.operation == Operation::kCheck) question.slot = RandomId();
}

// A limit that lets nobody pass has no numbers that mean something.
void LetNothingFit(Use& use) {
  static const Limit kOne = *Limit::FixedWindow({.limit = 1, .window = std::chrono::seconds(1)});
  use.limit = &kOne;
  use.cost = kMaxAmount;
  use.only_looks = true;
}

// Mistakes of the caller. Everything else is the store's fault, or the operator's.
bool IsOfCall(ErrorCode code) {
  return code == ErrorCode::kInvalidCost || code == ErrorCode::kInvalidKey ||
         code == ErrorCode::kInvalidLimit || code == ErrorCode::kNotSupported;
}

Answered Settle(Question& question, Ruling ruling, bool allowed) {
  question.ruling = ruling;
  question.allowed = allowed;
  return Answered::kNow;
}

Answered Refuse(Question& question, ErrorCode error) {
  question.error = error;
  return Settle(question, Ruling::kInvalid, false);
}

bool AnyRejectsAll(const Question& question) {
  for (std::size_t i = 0; i < question.uses().size(); ++i) {
    const rules::NamedLimit* limit = question.met(i).limit;
    if (limit != nullptr && limit->reject_all && question.uses()[i].mode == Mode::kEnforce) {
      return true;
    }
  }
  return false;
}

// Whether a limit's rule has a say in what becomes of the call while the store can't tell. Quotas
// deny together, so they have one only if they say the same.
bool DecidesFailure(const Question& question, const Use& use) {
  if (use.mode != Mode::kQuota) return use.mode == Mode::kEnforce;
  std::optional<rules::OnStoreFailure> all;
  for (std::size_t i = 0; i < question.uses().size(); ++i) {
    if (question.uses()[i].mode != Mode::kQuota) continue;
    const rules::Rule* const rule = question.met(i).rule;
    if (rule == nullptr || (all && *all != rule->on_store_failure)) return false;
    all = rule->on_store_failure;
  }
  return true;
}

}  // namespace

std::string_view NameOf(Enforcement enforcement) {
  switch (enforcement) {
    case Enforcement::kOn:
      return "on";
    case Enforcement::kShadow:
      return "shadow";
    case Enforcement::kOff:
      return "off";
  }
  return "";
}

Answered Limiter::Ask(Question& question, WallTime now) {
  const rules::RuleSet* const rules = question.own_.empty() ? rules_.Get() : nullptr;
  if (!Begin(question, rules, now)) return Answered::kNow;
  return End(question, store_.Submit(question.call_));
}

void Limiter::AskBatch(std::span<Question* const> questions, WallTime now) {
  assert(questions.size() <= kMostAtOnce);
  // One view of the rules for all: a second might end what the first points to.
  const rules::RuleSet* const rules = rules_.Get();
  std::array<store::Call*, kMostAtOnce> calls;
  std::size_t count = 0;
  for (Question* const question : questions) {
    if (Begin(*question, rules, now)) calls[count++] = &question->call_;
  }
  const std::span<store::Call* const> asked(calls.data(), count);
  store_.SubmitBatch(asked);
  for (store::Call* const call : asked) {
    End(*static_cast<Question*>(call->context), call->pending ? Answered::kLater : Answered::kNow);
  }
}

// Once the store has been asked.
Answered Limiter::End(Question& question, Answered answered) {
  if (answered == Answered::kNow) {
    Conclude(question);
  } else if (question.own_.empty()) {
    question.held_ = rules_.held();
  } else if (question.hold_ != nullptr) {
    question.held_ = question.hold_(question.holder_);
  }
  return answered;
}

// False: it is answered, without the store.
bool Limiter::Begin(Question& question, const rules::RuleSet* rules, WallTime now) {
  question.is_sampled_ = observer_ != nullptr && observer_->SamplesThis();
  if (question.is_sampled_) question.asked_ = SteadyClock::Precise();
  question.degraded = false;
  question.affected = 0;
  question.headline = {};
  question.limiter_ = this;
  question.uses_.clear();
  question.met_.clear();
  question.call_.pending = false;
  const bool asks_store =
      question.own_.empty() ? MeetRules(question, rules) : MeetOwnLimits(question);
  if (!asks_store) return false;
  if (question.operation == Operation::kInspect) question.MakeRoomForInspections();
  question.call_ = {.operation = question.operation,
                    .uses = question.uses_,
                    .now = now,
                    .patience = question.patience};
  question.call_.context = &question;
  question.call_.on_done = [](store::Call& /*call*/, void* context) {
    Question& done = *static_cast<Question*>(context);
    done.limiter_->Conclude(done);
    const auto held = std::move(done.held_);  // Until the answer has been read.
    if (done.on_done != nullptr) done.on_done(done, done.context);
  };
  if (question.is_sampled_) question.submitted_ = SteadyClock::Precise();
  return true;
}

// False: it is answered, without any limit.
bool Limiter::MeetRules(Question& question, const rules::RuleSet* rules) {
  if (rules == nullptr) {
    Settle(question, Ruling::kNoRule, true);
    return false;
  }
  if (question.cost < 0) {
    Refuse(question, ErrorCode::kInvalidCost);
    return false;
  }
  // What an operation other than a check costs is its own affair, not the rules'.
  const bool takes = Takes(question.operation);
  rules->Find(question.GatherAttributes(), takes ? question.cost : 0, question.match_);
  const rules::Match& match = question.match_;
  if (match.listed() != rules::Listed::kNo && takes) {
    const bool allowed = match.listed() == rules::Listed::kAllowed;
    Settle(question, allowed ? Ruling::kAllowListed : Ruling::kDenyListed, allowed);
    return false;
  }
  const Enforcement enforcement = settings_.enforcement.load(std::memory_order_relaxed);
  if (takes && enforcement == Enforcement::kOff) {
    Settle(question, Ruling::kNotEnforced, true);
    return false;
  }
  if (match.refusal() != nullptr) {
    Refuse(question, ErrorCode::kInvalidCost);
    return false;
  }
  for (const rules::MetLimit& met : match.limits()) {
    if (!Concerns(question.operation, *met.limit)) continue;
    const bool shadow = met.rule->shadow || enforcement == Enforcement::kShadow;
    AddUse(question, met, shadow ? Mode::kShadow : Mode::kEnforce);
  }
  if (question.uses_.empty()) {
    Settle(question, Ruling::kNoRule, rules->file().otherwise == rules::Default::kAllow);
    return false;
  }
  return !(takes && DeniedByRejection(question));
}

// The limits of rules that let nobody pass need no store.
bool Limiter::DeniedByRejection(Question& question) {
  if (!AnyRejectsAll(question)) return false;
  for (std::size_t i = 0; i < question.uses_.size(); ++i) {
    question.uses_[i].verdict = {};
    const rules::NamedLimit* const limit = question.met_[i].limit;
    if (limit == nullptr || !limit->reject_all) continue;
    question.uses_[i].verdict = {.outcome = Outcome::kNeverFits, .retry_after = kMaxWait};
    question.headline = {.index = static_cast<std::uint16_t>(i),
                         .headline = question.uses_[i].verdict};
  }
  Settle(question, Ruling::kDecided, false);
  return true;
}

void Limiter::AddUse(Question& question, const rules::MetLimit& met, Mode mode) {
  Use& use = question.uses_.emplace_back();
  use.key = met.key;
  use.limit = &met.limit->limit;
  use.cost = Takes(question.operation) ? met.cost : question.cost;
  use.mode = mode;
  use.may_lease = met.rule->consistency == rules::Consistency::kLeased;
  use.series = met.limit->number;
  if (IsConcurrency(*use.limit)) {
    ChooseSlot(question);
    use.slot = question.slot;
  }
  question.met_.push_back(met);
}

// The same for limits that the caller brings or has met: the operator's switch is for them, too.
bool Limiter::MeetOwnLimits(Question& question) {
  const Enforcement enforcement = settings_.enforcement.load(std::memory_order_relaxed);
  const bool takes = Takes(question.operation);
  if (takes && enforcement == Enforcement::kOff) {
    Settle(question, Ruling::kNotEnforced, true);
    return false;
  }
  const bool shadow = takes && enforcement == Enforcement::kShadow;
  for (const Question::OwnLimit& own : question.own_) {
    Use& use = question.uses_.emplace_back();
    use.key = {.scope = question.Text(own.scope),
               .tag = question.Text(own.tag),
               .rest = question.Text(own.rest)};
    use.limit = &own.limit;
    use.cost = own.cost;
    use.mode = shadow ? Mode::kShadow : own.terms.mode;
    use.count_denied = own.terms.count_denied;
    use.only_looks = own.terms.only_looks;
    use.receipt = own.receipt;
    use.may_lease = own.leased;
    if (own.rule != nullptr) {
      use.may_lease = own.rule->consistency == rules::Consistency::kLeased;
      use.series = own.named->number;
      if (takes && own.named->reject_all) LetNothingFit(use);
      if (IsConcurrency(own.limit)) ChooseSlot(question);
    }
    if (IsConcurrency(own.limit)) use.slot = question.slot;
    question.met_.push_back(
        {.rule = own.rule, .limit = own.named, .key = use.key, .cost = own.cost});
  }
  return !(takes && DeniedByRejection(question));
}

void Limiter::Conclude(Question& question) {
  Judge(question);
  if (!question.is_sampled_) return;
  const std::chrono::nanoseconds done = SteadyClock::Precise();
  observer_->Took(question, {.whole = done - question.asked_, .store = done - question.submitted_});
}

void Limiter::Judge(Question& question) {
  const store::Call& call = question.call_;
  if (!call.ok) {
    question.error = call.error;
    if (IsOfCall(call.error)) {
      question.uses_.clear();
      Settle(question, Ruling::kInvalid, false);
    } else {
      Degrade(question);
    }
    return;
  }
  question.affected = call.affected;
  if (Takes(question.operation)) question.headline = Headline(call, question.met_);
  Settle(question, Ruling::kDecided, call.allowed);
}

// The store could not tell. Closed rules deny; local ones ask the fallback; the others let pass.
void Limiter::Degrade(Question& question) {
  question.degraded = true;
  Settle(question, Ruling::kDegraded, Takes(question.operation));
  question.headline = {.allowed = question.allowed, .degraded = true};
  if (!Takes(question.operation)) return;
  std::array<std::size_t, kMaxLimitsPerCall> local;
  std::size_t local_count = 0;
  std::optional<std::size_t> open;
  if (const auto told = ToldInHeaders(question)) {
    question.headline.index = static_cast<std::uint16_t>(*told);
  }
  for (std::size_t i = 0; i < question.uses_.size(); ++i) {
    Use& use = question.uses_[i];
    use.verdict = {.limit = use.limit->cap()};
    use.receipt = {};
    const rules::Rule* rule = question.met_[i].rule;
    if (rule == nullptr || !DecidesFailure(question, use)) continue;
    if (rule->on_store_failure == rules::OnStoreFailure::kClosed && question.allowed) {
      question.allowed = false;
      question.headline = {
          .degraded = true,
          .index = static_cast<std::uint16_t>(i),
          .headline = {
              .outcome = Outcome::kDenied, .limit = use.limit->cap(), .retry_after = kTryAgain}};
    }
    if (rule->on_store_failure == rules::OnStoreFailure::kLocal && local_count < local.size()) {
      local[local_count++] = i;
    }
    if (rule->on_store_failure == rules::OnStoreFailure::kOpen && !open) open = i;
  }
  if (question.allowed && fallback_ != nullptr && local_count > 0) {
    AskFallback(question, std::span(local).first(local_count));
  }
  if (question.allowed && fallback_ != nullptr && open && settings_.emergency) {
    AskEmergency(question, *open);
  }
}

// Per address, or, of calls that tell none, per whoever the open rule's budget belongs to.
void Limiter::AskEmergency(Question& question, std::size_t open) {
  const Use& met = question.uses_[open];
  const auto network = question.Find("ip_network");
  const auto address = network ? network : question.Find("ip");
  Use use;
  use.key = {.scope = address ? "_emergency:ip" : "_emergency:other",
             .tag = address ? *address : met.key.tag,
             .rest = address ? std::string_view() : met.key.rest};
  use.limit = &*settings_.emergency;
  store::Call call{.operation = question.operation, .uses = {&use, 1}, .now = question.call_.now};
  if (fallback_->Submit(call) != Answered::kNow || !call.ok || call.allowed) return;
  question.allowed = false;
  question.headline = {
      .degraded = true, .index = static_cast<std::uint16_t>(open), .headline = use.verdict};
  question.uses_[open].verdict = use.verdict;
}

// Once after each time that Redis was heard: what was left for all then is shared as the limit is.
void Limiter::LowerToLastKnown(const Use& share, const Limit& whole, WallTime now) {
  if (leases_ == nullptr) return;
  const auto known = leases_->TakeLastKnown(share.key, whole, SteadyClock::Now());
  if (!known) return;
  const Wide left = Wide{*known} * share.limit->cap() / whole.cap();
  Use use;
  use.key = share.key;
  use.limit = share.limit;
  use.cost = 0;
  store::Call call{.operation = Operation::kPeek, .uses = {&use, 1}, .now = now};
  if (fallback_->Submit(call) != Answered::kNow || !call.ok) return;
  use.cost = use.verdict.remaining - static_cast<std::int64_t>(left);
  if (use.cost <= 0) return;
  call.operation = Operation::kCheck;
  fallback_->Submit(call);
}

void Limiter::AskFallback(Question& question, std::span<const std::size_t> local) {
  std::array<Use, kMaxLimitsPerCall> uses;
  std::array<rules::MetLimit, kMaxLimitsPerCall> met;
  std::array<std::optional<Limit>, kMaxLimitsPerCall> shares;
  const std::uint32_t servers = settings_.servers.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < local.size(); ++i) {
    uses[i] = question.uses_[local[i]];
    met[i] = question.met_[local[i]];
    const auto& emergency = question.met_[local[i]].rule->emergency;
    const Limit& whole = *uses[i].limit;
    uses[i].limit = emergency ? &*emergency : &shares[i].emplace(ShareOf(whole, servers));
    if (uses[i].may_lease && !emergency) LowerToLastKnown(uses[i], whole, question.call_.now);
  }
  store::Call call{.operation = question.operation,
                   .uses = {uses.data(), local.size()},
                   .now = question.call_.now};
  if (fallback_->Submit(call) != Answered::kNow || !call.ok) return;  // Open, then.
  question.allowed = call.allowed;
  question.headline = Headline(call, std::span(met).first(local.size()));
  question.headline.degraded = true;
  question.headline.index = static_cast<std::uint16_t>(local[question.headline.index]);
  for (std::size_t i = 0; i < local.size(); ++i) {
    question.uses_[local[i]].verdict = uses[i].verdict;
  }
}

}  // namespace sluice::limiter
