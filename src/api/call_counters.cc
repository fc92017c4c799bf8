#include "api/call_counters.h"

namespace sluice::api {

rules::OnStoreFailure FailureModeOf(const limiter::CheckRequest& check) {
  const rules::Rule* const rule =
      check.uses().empty() ? nullptr : check.matched(check.decision.index).rule;
  return rule != nullptr ? rule->on_store_failure : rules::OnStoreFailure::kOpen;
}

CallOutcome OutcomeOf(const limiter::CheckRequest& check) {
  switch (check.ruling) {
    case Ruling::kDecided:
      return check.allowed ? CallOutcome::kAllowed : CallOutcome::kDenied;
    case Ruling::kAllowListed:
    case Ruling::kExempted:
      return CallOutcome::kBypassed;
    case Ruling::kDenyListed:
    case Ruling::kBlocked:
      return CallOutcome::kBlocked;
    case Ruling::kNoRule:
    case Ruling::kNotEnforced:
      return check.allowed ? CallOutcome::kUnlimited : CallOutcome::kBlocked;
    case Ruling::kDegraded:
      if (check.allowed) return CallOutcome::kAllowed;
      if (check.full >= limiter::FullOutcome::kClosed) return CallOutcome::kUnavailable;
      return FailureModeOf(check) == rules::OnStoreFailure::kClosed ? CallOutcome::kUnavailable
                                                                    : CallOutcome::kDenied;
    case Ruling::kInvalid:
      return CallOutcome::kInvalid;
  }
  return CallOutcome::kInvalid;
}

}  // namespace sluice::api
