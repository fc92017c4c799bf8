#include "simulate/replay.h"

#include <algorithm>
#include <utility>

#include "limiter/share.h"
#include "limiter/when_full.h"
#include "match/budget.h"

namespace sluice::simulate {
namespace {

using match::MatchedLimit;
using store::KeyUse;

bool ClosesOnFailure(const MatchedLimit& matched) {
  return !IsShadow(*matched.rule, *matched.limit) &&
         matched.rule->on_store_failure == rules::OnStoreFailure::kClosed;
}

bool ClosesWhenFull(const MatchedLimit& matched) {
  return !IsShadow(*matched.rule, *matched.limit) &&
         matched.rule->when_full != rules::WhenFull::kOpen;
}

}  // namespace

Result<std::unique_ptr<Replay>> Replay::Create(std::shared_ptr<const match::RuleSet> rules,
                                               const ReplayOptions& options) {
  auto store = store::MemoryStore::Create({.max_keys = options.max_keys});
  if (!store) return store.error();
  return std::unique_ptr<Replay>(new Replay(std::move(rules), std::move(*store), options));
}

Replay::Replay(std::shared_ptr<const match::RuleSet> rules,
               std::unique_ptr<store::MemoryStore> store, const ReplayOptions& options)
    : rules_(std::move(rules)), store_(std::move(store)), options_(options) {}

bool Replay::Denies(std::size_t matched_limit) const {
  if (never_denies_[matched_limit]) return false;
  if (match_.limits()[matched_limit].limit->reject_all) return true;
  const KeyUse* const use = use_of_[matched_limit];
  return use != nullptr && use->verdict.outcome != Outcome::kAllowed;
}

bool Replay::NeverFits(std::size_t matched_limit) const {
  if (match_.limits()[matched_limit].limit->reject_all) return true;
  const KeyUse* const use = use_of_[matched_limit];
  return use != nullptr && use->verdict.outcome == Outcome::kNeverFits;
}

SimulatedDecision Replay::Evaluate(const TraceRow& row, WallTime now) {
  EndCalls(now);
  entries_.Clear();
  if (options_.entries != nullptr) options_.entries->Find(row.attributes, now, entries_);
  rules_->Find(row.attributes, row.cost, now, match_);
  return Decide(row, now);
}

// Of the whole call. Lists of the rules are in between: a block is stronger than `allow`, and
// `deny` is stronger than an exemption.
std::optional<SimulatedDecision> Replay::DecideByEntries() const {
  const match::FoundEntries found = entries_.found();
  if (match::FindBlock(found) != nullptr) {
    return SimulatedDecision{.allowed = false, .reason = Reason::kBlockEntry};
  }
  if (match_.listed() != match::Listed::kNo) return std::nullopt;
  if (match::FindAllow(found) != nullptr) {
    return SimulatedDecision{.allowed = true, .reason = Reason::kAllowEntry};
  }
  if (IsPenalized({})) return SimulatedDecision{.allowed = false, .reason = Reason::kBlockEntry};
  if (match_.refusal() != nullptr) return std::nullopt;
  for (const MatchedLimit& matched : match_.limits()) {
    if (match::FindBlock(found, matched.rule->id) == nullptr && !IsPenalized(matched.rule->id)) {
      continue;
    }
    return SimulatedDecision{.allowed = false, .reason = Reason::kBlockEntry, .rule = matched.rule};
  }
  return std::nullopt;
}

bool Replay::IsPenalized(std::string_view rule) const {
  const match::LiveEntry* const penalty =
      match::FindPenalty(entries_.found(), match::PenaltiesOf(match_), rule);
  return penalty != nullptr && !penalty->entry.penalty->shadow;
}

const match::LiveEntry* Replay::AdjustmentOf(const MatchedLimit& matched) const {
  if (entries_.empty()) return nullptr;
  match::EntryTarget target = match::TargetOf(*matched.rule, *matched.limit);
  target.penalties = match::PenaltiesOf(match_);
  return match::FindAdjustment(entries_.found(), target);
}

SimulatedDecision Replay::Decide(const TraceRow& row, WallTime now) {
  if (!entries_.empty()) {
    if (const auto decision = DecideByEntries()) return *decision;
  }
  if (match_.listed() == match::Listed::kDenied) {
    return {.allowed = false, .reason = Reason::kDenyList};
  }
  if (match_.listed() == match::Listed::kAllowed) {
    return {.allowed = true, .reason = Reason::kAllowList};
  }
  if (const match::CostRefusal* refusal = match_.refusal()) {
    return {.allowed = false,
            .reason = Reason::kCostRefused,
            .rule = refusal->rule,
            .limit = refusal->limit};
  }
  if (match_.limits().empty()) {
    return {.allowed = rules_->file().otherwise == rules::DefaultAction::kAllow,
            .reason = Reason::kNoRule};
  }
  return DecideLimits(row, now);
}

SimulatedDecision Replay::DecideLimits(const TraceRow& row, WallTime now) {
  const auto matched_limits = match_.limits();
  bool rejected = false;
  uses_.clear();
  uses_.reserve(matched_limits.size());
  matched_of_uses_.clear();
  use_of_.clear();
  never_denies_.clear();
  adjusted_.clear();
  adjusted_.reserve(matched_limits.size());
  for (const MatchedLimit& matched : matched_limits) {
    const match::LiveEntry* const change = AdjustmentOf(matched);
    const bool is_unlimited =
        change != nullptr && change->entry.effect == match::EntryEffect::kUnlimited;
    const bool is_exempted =
        !entries_.empty() &&
        match::FindAllow(entries_.found(), match::TargetOf(*matched.rule, *matched.limit));
    never_denies_.push_back(is_unlimited || is_exempted);
    if (is_exempted) {
      use_of_.push_back(nullptr);
      continue;
    }
    const bool shadow = IsShadow(*matched.rule, *matched.limit) || is_unlimited;
    if (matched.limit->reject_all) {
      rejected = rejected || !shadow;
      use_of_.push_back(nullptr);
      continue;
    }
    if (options_.unknown_duration == UnknownDuration::kLeaveOut && !row.duration &&
        matched.limit->limit.algorithm() == Algorithm::kConcurrency) {
      ++limits_left_out_;
      use_of_.push_back(nullptr);
      continue;
    }
    KeyUse& use = uses_.emplace_back();
    use.key = matched.key;
    use.limit = LimitOf(matched);
    if (change != nullptr && !is_unlimited) {
      const auto adjusted = match::AdjustedLimit(*use.limit, change->entry, matched.limit->scale);
      if (adjusted) use.limit = &adjusted_.emplace_back(*adjusted);
    }
    use.cost = matched.cost;
    use.mode = shadow ? Mode::kShadow : Mode::kEnforce;
    use_of_.push_back(&use);
    matched_of_uses_.push_back(matched);
  }
  if (const auto failure = Submit(now, rejected)) {
    const bool open =
        std::none_of(matched_limits.begin(), matched_limits.end(),
                     *failure == ErrorCode::kStoreFull ? ClosesWhenFull : ClosesOnFailure);
    return {.allowed = open && !rejected, .reason = Reason::kNotEvaluated};
  }
  SimulatedDecision decision{.allowed = !rejected};
  for (std::size_t i = 0; i < matched_limits.size(); ++i) {
    const MatchedLimit& matched = matched_limits[i];
    if (IsShadow(*matched.rule, *matched.limit) || !Denies(i)) continue;
    decision.allowed = false;
    decision.rule = matched.rule;
    decision.limit = matched.limit;
    break;
  }
  if (decision.allowed) KeepSlots(row, now);
  return decision;
}

// Whether callers that are sampled independently of each other use one budget.
bool Replay::IsShared(const MatchedLimit& matched) const {
  if (matched.key.rest == match::kMissingRest) return true;
  if (!matched.rule->per) return false;
  return std::none_of(
      matched.rule->per->begin(), matched.rule->per->end(), [&](const std::string& name) {
        return name == "api_key" || (options_.addresses_are_callers && name == "ip");
      });
}

const Limit* Replay::LimitOf(const MatchedLimit& matched) {
  const Limit& limit = matched.limit->limit;
  if (options_.share_divisor <= 1 || !IsShared(matched)) return &limit;
  const auto found = scaled_limits_.find(matched.limit);
  if (found != scaled_limits_.end()) return &found->second;
  return &scaled_limits_.emplace(matched.limit, limiter::ShareOf(limit, options_.share_divisor))
              .first->second;
}

// A call that some limit rejects whatever happens takes nothing from the others.
std::optional<ErrorCode> Replay::Submit(WallTime now, bool rejected) {
  if (uses_.empty()) return std::nullopt;
  store::StoreCall call;
  call.operation = rejected ? store::Operation::kPeek : store::Operation::kCheck;
  call.uses = uses_;
  call.now = now;
  store_->Submit(call);
  if (!call.ok && call.error == ErrorCode::kStoreFull) {
    limiter::CheckWithoutRoom(*store_, call, matched_of_uses_);
  }
  if (call.ok) return std::nullopt;
  return call.error;
}

void Replay::KeepSlots(const TraceRow& row, WallTime now) {
  for (const KeyUse& use : uses_) {
    if (use.limit->algorithm() != Algorithm::kConcurrency || use.receipt.amount == 0) continue;
    if (!row.duration) {
      ++unending_slots_;
      continue;
    }
    slots_.push({.end = now + *row.duration,
                 .id = use.receipt.slot,
                 .limit = *use.limit,
                 .scope = std::string(use.key.scope),
                 .tag = std::string(use.key.tag),
                 .rest = std::string(use.key.rest)});
  }
}

void Replay::EndCalls(WallTime now) {
  while (!slots_.empty() && slots_.top().end <= now) {
    const Slot& slot = slots_.top();
    KeyUse use;
    use.key = {.scope = slot.scope, .tag = slot.tag, .rest = slot.rest};
    use.limit = &slot.limit;
    use.slot = slot.id;
    store::StoreCall call;
    call.operation = store::Operation::kRelease;
    call.uses = {&use, 1};
    call.now = slot.end;
    store_->Submit(call);
    slots_.pop();
  }
}

}  // namespace sluice::simulate
