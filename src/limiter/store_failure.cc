// The failure policy: decides a check that the store could not decide.

#include <array>
#include <optional>

#include "base/clock.h"
#include "base/wide_math.h"
#include "lease/lease_table.h"
#include "limiter/decision.h"
#include "limiter/limiter.h"
#include "limiter/share.h"

namespace sluice::limiter {
namespace {

using rules::OnStoreFailure;
using store::Completion;
using store::KeyUse;
using store::Operation;

// What a limit's rule says, if it has a say: it is enforced, or a quota, and all quotas, which deny
// together, say the same.
std::optional<OnStoreFailure> FailureModeOf(const CheckRequest& check, std::size_t index) {
  const rules::Rule* const rule = check.matched(index).rule;
  const Mode mode = check.uses()[index].mode;
  if (rule == nullptr || (mode != Mode::kEnforce && mode != Mode::kQuota)) return std::nullopt;
  for (std::size_t i = 0; mode == Mode::kQuota && i < check.uses().size(); ++i) {
    if (check.uses()[i].mode != Mode::kQuota) continue;
    const rules::Rule* const other = check.matched(i).rule;
    if (other == nullptr || other->on_store_failure != rule->on_store_failure) return std::nullopt;
  }
  return rule->on_store_failure;
}

}  // namespace

// Closed rules deny; local ones are decided by the fallback; the others allow.
void Limiter::Degrade(CheckRequest& check) {
  check.ruling = Ruling::kDegraded;
  check.degraded = true;
  check.decision = {.allowed = Takes(check.operation), .degraded = true};
  check.allowed = check.decision.allowed;
  if (!check.allowed) return;
  const auto in_headers = UseInHeaders(check);
  std::array<std::size_t, kMaxLimitsPerCall> local;
  std::size_t local_count = 0;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < check.uses_.size(); ++i) {
    KeyUse& use = check.uses_[i];
    use.verdict = {.limit = use.limit->cap()};
    use.receipt = {};
    const auto mode = FailureModeOf(check, i);
    if (mode == OnStoreFailure::kLocal && local_count < local.size()) local[local_count++] = i;
    if (mode == OnStoreFailure::kOpen && !open) open = i;
  }
  check.decision = DecideWithoutStore(check.uses_, [&](std::size_t i) {
    return FailureModeOf(check, i) == OnStoreFailure::kClosed;
  });
  check.allowed = check.decision.allowed;
  if (!check.allowed) return;
  check.decision.index = static_cast<std::uint16_t>(in_headers.value_or(0));
  if (fallback_ == nullptr) return;
  if (local_count > 0) DecideByFallback(check, std::span(local).first(local_count));
  if (check.allowed && open && settings_.emergency) ApplyEmergencyLimit(check, *open);
}

// Per address; of calls without one, per key of the open rule.
void Limiter::ApplyEmergencyLimit(CheckRequest& check, std::size_t open) {
  const KeyUse& matched = check.uses_[open];
  const auto network = check.Find("ip_network");
  const auto address = network ? network : check.Find("ip");
  KeyUse use;
  use.key = {.scope = address ? "_emergency:ip" : "_emergency:other",
             .tag = address ? *address : matched.key.tag,
             .rest = address ? std::string_view() : matched.key.rest};
  use.limit = &*settings_.emergency;
  store::StoreCall call{.operation = check.operation, .uses = {&use, 1}, .now = check.call_.now};
  fallback_->Submit(call);
  if (!call.ok && call.error == ErrorCode::kStoreFull) {
    // One budget for all addresses without room.
    use.key = {.scope = "_emergency:overflow"};
    use.kind = store::KeyKind::kOverflow;
    fallback_->Submit(call);
  }
  if (!call.ok || call.allowed) return;
  check.allowed = false;
  check.decision = {
      .degraded = true, .index = static_cast<std::uint16_t>(open), .tightest = use.verdict};
  check.uses_[open].verdict = use.verdict;
}

// Once after each answer of Redis: what was left for all then is shared as the limit is.
void Limiter::LowerToLastKnown(const KeyUse& share, const Limit& whole, WallTime now) {
  if (leases_ == nullptr) return;
  const auto known = leases_->TakeLastKnown(share.key, whole, SteadyClock::Now());
  if (!known) return;
  const Wide left = Wide{*known} * share.limit->cap() / whole.cap();
  KeyUse use;
  use.key = share.key;
  use.limit = share.limit;
  use.cost = 0;
  store::StoreCall call{.operation = Operation::kPeek, .uses = {&use, 1}, .now = now};
  if (fallback_->Submit(call) != Completion::kNow || !call.ok) return;
  use.cost = use.verdict.remaining - static_cast<std::int64_t>(left);
  if (use.cost <= 0) return;
  call.operation = Operation::kCheck;
  fallback_->Submit(call);
}

void Limiter::DecideByFallback(CheckRequest& check, std::span<const std::size_t> local) {
  std::array<KeyUse, kMaxLimitsPerCall> uses;
  std::array<match::MatchedLimit, kMaxLimitsPerCall> matched;
  std::array<std::optional<Limit>, kMaxLimitsPerCall> shares;
  const std::uint32_t servers = settings_.servers.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < local.size(); ++i) {
    uses[i] = check.uses_[local[i]];
    matched[i] = check.matched_[local[i]];
    // An emergency limit is in the units of most limits: not in money, nor in parts.
    const rules::NamedLimit& named = *matched[i].limit;
    const bool is_plain = named.scale == 1 && !rules::CountsMoney(named);
    const std::optional<Limit>& of_rule = matched[i].rule->emergency;
    const Limit* const emergency = is_plain && of_rule ? &*of_rule : nullptr;
    const Limit& whole = *uses[i].limit;
    uses[i].limit = emergency != nullptr ? emergency : &shares[i].emplace(ShareOf(whole, servers));
    if (uses[i].may_lease && emergency == nullptr) {
      LowerToLastKnown(uses[i], whole, check.call_.now);
    }
  }
  store::StoreCall call{
      .operation = check.operation, .uses = {uses.data(), local.size()}, .now = check.call_.now};
  const auto matched_of_call = std::span(matched).first(local.size());
  fallback_->Submit(call);
  if (!call.ok && call.error == ErrorCode::kStoreFull && call.operation == Operation::kCheck) {
    const FullAnswer full = CheckWithoutRoom(*fallback_, call, matched_of_call);
    check.full = full.outcome;
    if (!call.ok) return DenyWithoutRoom(check, local[full.index]);
  }
  if (!call.ok) return;  // Open, then.
  check.allowed = call.allowed;
  check.decision = DecisionOf(call, matched_of_call);
  check.decision.degraded = true;
  check.decision.index = static_cast<std::uint16_t>(local[check.decision.index]);
  for (std::size_t i = 0; i < local.size(); ++i) {
    check.uses_[local[i]].verdict = uses[i].verdict;
  }
}

}  // namespace sluice::limiter
