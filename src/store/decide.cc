#include "store/decide.h"

#include <algorithm>

#include "algo/algorithm_info.h"
#include "base/random.h"

namespace sluice::store {
namespace {

using algo::State;

bool IsConcurrency(const KeyUse& use) { return use.limit->algorithm() == Algorithm::kConcurrency; }

bool HoldsItsSlot(const KeyUse& use, const State& state) {
  return IsConcurrency(use) && use.slot != 0 && algo::HoldsSlot(state, use.slot);
}

void ShowState(const LimitNumbers& limit, WallTime now, const State& state, Verdict& verdict) {
  verdict.remaining = std::max(algo::Left(limit, now, state), std::int64_t{0}) + state.grant;
  verdict.reset_after = algo::WaitUntil(now, algo::FreshAt(limit, state));
}

// Evaluates one use: the outcome, and the wait if denied.
void EvaluateUse(KeyUse& use, EvaluatedKey& subject, WallTime now) {
  const LimitNumbers& limit = use.limit->numbers();
  const State& state = subject.state;
  const std::int64_t left = algo::Left(limit, now, state);
  use.verdict = {.limit = limit.cap, .remaining = std::max(left, std::int64_t{0}) + state.grant};
  use.receipt = {};
  if (use.cost == 0 || HoldsItsSlot(use, state)) return;

  // Below 2^60: at most 128 costs of at most 2^53.
  const std::int64_t wanted = use.cost + subject.pending;
  const std::int64_t from_limit = wanted - std::min(wanted, state.grant);
  const bool fits = from_limit == 0 || from_limit <= left;
  if (fits || use.mode == Mode::kForce) {
    if (from_limit > 0) use.verdict.delay = algo::DelayOf(limit, state);
    if (use.mode != Mode::kShadow && !use.only_looks) subject.pending = wanted;
  } else if (from_limit > limit.cap) {
    use.verdict.outcome = Outcome::kNeverFits;
    use.verdict.retry_after = kMaxWait;
  } else {
    use.verdict.outcome = Outcome::kDenied;
    use.verdict.retry_after = algo::WaitFor(limit, now, state, from_limit);
  }
}

void TakeUse(KeyUse& use, EvaluatedKey& subject, std::int64_t cost) {
  const LimitNumbers& limit = use.limit->numbers();
  State& state = subject.state;
  if (cost == 0) return;
  subject.changed = true;
  use.receipt = {};
  if (HoldsItsSlot(use, state)) {
    algo::RenewSlot(limit, state, use.slot);
    use.receipt.slot = use.slot;
  } else {
    if (IsConcurrency(use)) use.receipt.slot = use.slot != 0 ? use.slot : RandomId();
    use.receipt.from_grant = std::min(cost, state.grant);
    use.receipt.amount = cost - use.receipt.from_grant;
    use.receipt.grant_expires = algo::TakeGrant(state, use.receipt.from_grant);
    if (use.receipt.amount > 0) algo::Take(limit, state, use.receipt.amount, use.receipt.slot);
  }
  use.receipt.at = state.at;
}

// Consumes the uses of a call that passes.
std::int64_t TakenBy(const KeyUse& use) {
  return use.only_looks || use.verdict.outcome != Outcome::kAllowed ? 0 : use.cost;
}

// Returns what a denied call consumes from a limit that counts denied calls: what remains, without
// debt.
std::int64_t CountedWhenDenied(const KeyUse& use, const State& state, WallTime now) {
  if (!use.count_denied || use.only_looks || use.mode == Mode::kShadow || IsConcurrency(use)) {
    return 0;
  }
  const std::int64_t left = algo::Left(use.limit->numbers(), now, state);
  return std::min(use.cost, std::max(left, std::int64_t{0}) + state.grant);
}

void Check(StoreCall& call, std::span<EvaluatedKey* const> subjects) {
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    EvaluateUse(call.uses[i], *subjects[i], call.now);
  }
  call.allowed = Passes(call.uses);
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    KeyUse& use = call.uses[i];
    EvaluatedKey& subject = *subjects[i];
    if (call.operation == Operation::kCheck) {
      TakeUse(use, subject,
              call.allowed ? TakenBy(use) : CountedWhenDenied(use, subject.state, call.now));
      // A later charge counts where the call has looked.
      if (call.allowed && use.only_looks) use.receipt.at = subject.state.at;
    }
    if (!call.allowed) use.verdict.delay = Micros{0};
    ShowState(use.limit->numbers(), call.now, subject.state, use.verdict);
  }
}

void Grant(KeyUse& use, EvaluatedKey& subject, WallTime now) {
  State& state = subject.state;
  const WallTime expires = use.receipt.grant_expires;
  if (expires == WallTime{} || expires > now) {
    algo::AddGrant(state, use.cost, expires);
    subject.changed = true;
  }
  use.receipt.grant_expires = state.grant_expires;
}

// A refund goes to the limit first, then to the grant.
void Adjust(KeyUse& use, EvaluatedKey& subject, WallTime now) {
  const Receipt& taken = use.receipt;
  std::int64_t cost = use.cost;
  std::int64_t charged = taken.amount + taken.from_grant;
  if (const Settlement* const settlement = use.settlement) {
    if (settlement->expires <= now) Settle(use, nullptr);
    if (settlement->repeated || settlement->expires <= now) return;
    cost = settlement->total;
    charged = settlement->charged;
  }
  const LimitNumbers& limit = use.limit->numbers();
  State& state = subject.state;
  const std::int64_t kept_of_grant = std::min(taken.from_grant, cost);
  const std::int64_t kept_of_limit = cost - kept_of_grant;
  algo::Adjust(limit, state, taken.at, kept_of_limit - (charged - taken.from_grant));
  if (taken.grant_expires == WallTime{} || taken.grant_expires > now) {
    algo::AddGrant(state, taken.from_grant - kept_of_grant, taken.grant_expires);
  }
  subject.changed = true;
}

// Operations that treat each key separately.
void RunEach(StoreCall& call, std::span<EvaluatedKey* const> subjects) {
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    KeyUse& use = call.uses[i];
    EvaluatedKey& subject = *subjects[i];
    const LimitNumbers& limit = use.limit->numbers();
    switch (call.operation) {
      case Operation::kGrant:
        Grant(use, subject, call.now);
        break;
      case Operation::kAdjust:
        Adjust(use, subject, call.now);
        break;
      case Operation::kRelease:
      case Operation::kRenew: {
        const bool held = call.operation == Operation::kRelease
                              ? algo::ReleaseSlot(limit, subject.state, use.slot)
                              : algo::RenewSlot(limit, subject.state, use.slot);
        subject.changed |= held;
        call.affected += held ? 1 : 0;
        break;
      }
      default:
        break;
    }
    use.verdict = Peek(limit, call.now, subject.state);
  }
}

bool Supports(Operation operation, Algorithm algorithm) {
  const bool concurrency = algorithm == Algorithm::kConcurrency;
  switch (operation) {
    case Operation::kGrant:
    case Operation::kAdjust:
      return !concurrency;
    case Operation::kRelease:
    case Operation::kRenew:
      return concurrency;
    case Operation::kFetch:
    case Operation::kReturn:
      return algo::InfoOf(algorithm).leasable;
    default:
      return true;
  }
}

// Uses of one key share its state, which has a meaning only under one limit's numbers.
bool ContradictEachOther(const KeyUse& a, const KeyUse& b) {
  return a.limit != b.limit && *a.limit != *b.limit && a.key == b.key;
}

bool AnyContradictEachOther(std::span<const KeyUse> uses) {
  for (std::size_t i = 1; i < uses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (ContradictEachOther(uses[i], uses[j])) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<ErrorCode> Refusal(StoreCall& call) {
  call.now = algo::ClampTime(call.now);
  if (IsPlainCheck(call)) return std::nullopt;
  if (call.uses.size() > kMaxLimitsPerCall) return ErrorCode::kTooManyLimits;
  const std::int64_t least = call.operation == Operation::kGrant ? 1 : 0;
  for (KeyUse& use : call.uses) {
    if (use.cost < least) return ErrorCode::kInvalidCost;
    if (!Fits(use.key)) return ErrorCode::kInvalidKey;
    if (!Supports(call.operation, use.limit->algorithm())) return ErrorCode::kNotSupported;
    if (call.operation == Operation::kAdjust) {
      if (use.receipt.amount < 0 || use.receipt.from_grant < 0) return ErrorCode::kInvalidCost;
      if (use.settlement != nullptr) {
        use.settlement->expires = algo::ClampTime(use.settlement->expires);
        use.settlement->repeated = false;
      }
    }
    use.receipt.grant_expires = algo::ClampTime(use.receipt.grant_expires);
    for (std::int64_t* amount : {&use.cost, &use.receipt.amount, &use.receipt.from_grant}) {
      *amount = std::min(*amount, kMaxAmount);
    }
  }
  if (AnyContradictEachOther(call.uses)) return ErrorCode::kInvalidLimit;
  return std::nullopt;
}

SettlementMark Settle(const KeyUse& use, const SettlementMark* mark) {
  Settlement& settlement = *use.settlement;
  settlement.charged = mark != nullptr ? mark->total : use.receipt.amount + use.receipt.from_grant;
  settlement.repeated = mark != nullptr && mark->step != SettlementStep::kPartial;
  if (settlement.repeated) {
    settlement.total = mark->total;
    settlement.ended_by = mark->step;
    return *mark;
  }
  switch (settlement.step) {
    case SettlementStep::kFinal:
      settlement.total = use.cost;
      break;
    case SettlementStep::kPartial:
      settlement.total = std::max(settlement.charged, use.cost);
      break;
    case SettlementStep::kMove:
      settlement.total = settlement.charged;
      break;
  }
  return {.total = settlement.total, .step = settlement.step};
}

void Decide(StoreCall& call, std::span<EvaluatedKey* const> subjects) {
  call.affected = 0;
  if (call.operation == Operation::kCheck || call.operation == Operation::kPeek) {
    Check(call, subjects);
  } else {
    RunEach(call, subjects);
    call.allowed = true;
  }
}

Verdict Peek(const LimitNumbers& limit, WallTime now, const State& state) {
  Verdict verdict{.limit = limit.cap};
  ShowState(limit, now, state, verdict);
  return verdict;
}

}  // namespace sluice::store
