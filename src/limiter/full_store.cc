// What a Limiter does about keys for which there is no room.

#include <algorithm>
#include <string>

#include "algo/algorithm_info.h"
#include "algo/state.h"
#include "limiter/decision.h"
#include "limiter/limiter.h"

namespace sluice::limiter {
namespace {

using store::KeyKind;
using store::KeyUse;
using store::Operation;

bool MakesCallerKey(const CheckRequest& check, const KeyUse& use) {
  return check.operation == Operation::kCheck && use.kind == KeyKind::kFromCaller && use.cost > 0 &&
         !use.only_looks;
}

// How long a key lives that such a use makes.
Micros LifeOf(const KeyUse& use, WallTime now) {
  const LimitNumbers& limit = use.limit->numbers();
  if (algo::InfoOf(limit.algorithm).keeps_history) return limit.window;
  algo::State state = algo::Fresh(limit, now);
  algo::Advance(limit, now, state);
  algo::Take(limit, state, std::min(use.cost, limit.cap), 0);
  return algo::WaitUntil(now, algo::FreshAt(limit, state));
}

bool SettlesForCaller(const CheckRequest& check, const KeyUse& use) {
  return check.operation == Operation::kAdjust && use.kind == KeyKind::kFromCaller &&
         use.settlement != nullptr;
}

// A settled receipt is remembered for as long as a key might be, and takes as much room.
bool AdmitReceipt(store::KeyCensus& census, const KeyUse& use, WallTime now) {
  const Micros life = use.settlement->expires - now;
  if (life <= Micros{0}) return true;  // It is not remembered.
  const std::string rest =
      std::string(use.key.rest) + "#settled:" + std::to_string(use.settlement->receipt);
  return census.Admit({.scope = use.key.scope, .tag = use.key.tag, .rest = rest}, now, life);
}

}  // namespace

void Limiter::AnswerFull(CheckRequest& check) {
  store::StoreCall& call = check.call_;
  const FullAnswer full = CheckWithoutRoom(store_, call, check.matched_);
  check.full = full.outcome;
  if (!call.ok) {
    if (full.outcome < FullOutcome::kClosed) return Degrade(check);
    return DenyWithoutRoom(check, full.index);
  }
  check.error = ErrorCode::kStoreFull;
  check.degraded = true;
  check.decision = DecisionOf(call, check.matched_);
  check.decision.degraded = true;
  check.ruling = Ruling::kDecided;
  check.allowed = call.allowed;
}

void Limiter::DenyWithoutRoom(CheckRequest& check, std::size_t index) {
  for (KeyUse& use : check.uses_) {
    use.verdict = {.limit = use.limit->cap()};
    use.receipt = {};
  }
  check.ruling = Ruling::kDegraded;
  check.degraded = true;
  check.allowed = false;
  check.decision = DenialWithoutStore(check.uses_, index);
}

// False: there are too many keys already, and it is answered.
bool Limiter::AdmitCallerKeys(CheckRequest& check, WallTime now) {
  for (std::size_t i = 0; i < check.uses_.size(); ++i) {
    const KeyUse& use = check.uses_[i];
    if (SettlesForCaller(check, use)) {
      if (AdmitReceipt(*settings_.caller_keys, use, now)) continue;
    } else if (!MakesCallerKey(check, use) ||
               settings_.caller_keys->Admit(use.key, now, LifeOf(use, now))) {
      continue;
    }
    if (use.mode == Mode::kShadow) continue;
    check.error = ErrorCode::kStoreFull;
    check.full = FullOutcome::kRefused;
    DenyWithoutRoom(check, i);
    return false;
  }
  return true;
}

// Now that it is known how long the keys live.
void Limiter::CountCallerKeys(const CheckRequest& check) const {
  for (const KeyUse& use : check.uses_) {
    if (check.operation == Operation::kReset && use.kind == KeyKind::kFromCaller) {
      settings_.caller_keys->SetLife(use.key, check.call_.now, Micros{0});
    } else if (MakesCallerKey(check, use) && use.verdict.reset_after > Micros{0}) {
      settings_.caller_keys->SetLife(use.key, check.call_.now, use.verdict.reset_after);
    }
  }
}

}  // namespace sluice::limiter
