#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "algo/state.h"
#include "store/store.h"

/// Evaluates a call on states in memory: it consumes from all keys or from none. Pure, except for
/// the ids of new slots.
namespace sluice::store {

/// The state of one key while a call is evaluated. Uses of one key share it.
struct EvaluatedKey {
  algo::State state;         ///< Advanced to the call's `now`.
  std::int64_t pending = 0;  ///< Amount that earlier uses of the call will consume.
  bool changed = false;      ///< The state must be written back.
};

/// Returns whether a call passes, given the verdicts of its uses: no enforced limit denies it, and
/// not all of its quotas do.
inline bool Passes(std::span<const KeyUse> uses) {
  bool any_quota = false;
  bool any_quota_fits = false;
  for (const KeyUse& use : uses) {
    const bool fits = use.verdict.outcome == Outcome::kAllowed;
    if (use.mode == Mode::kEnforce && !fits) return false;
    if (use.mode != Mode::kQuota) continue;
    any_quota = true;
    any_quota_fits = any_quota_fits || fits;
  }
  return !any_quota || any_quota_fits;
}

inline bool Fits(const Key& key) {
  return key.scope.size() <= kMaxKeyBytes && key.tag.size() + key.rest.size() <= kMaxKeyBytes;
}

/// Returns true for a valid check of one key, which nearly all calls are.
inline bool IsPlainCheck(const StoreCall& call) {
  if (call.operation != Operation::kCheck || call.uses.size() != 1) return false;
  const KeyUse& use = call.uses[0];
  return use.cost >= 0 && use.cost <= kMaxAmount && Fits(use.key);
}

/// Returns the error of an invalid call, or nothing. Reads the call's input only; clamps times and
/// amounts that are out of range.
std::optional<ErrorCode> Refusal(StoreCall& call);

/// Returns true for errors of invalid calls. All other errors are failures of the store.
inline bool IsCallError(ErrorCode error) {
  return error == ErrorCode::kInvalidCost || error == ErrorCode::kInvalidKey ||
         error == ErrorCode::kInvalidLimit || error == ErrorCode::kNotSupported;
}

/// Sets the results of a use's settlement, given the receipt's mark (null: none). Returns the mark
/// to keep.
SettlementMark Settle(const KeyUse& use, const SettlementMark* mark);

/// Runs the call (any operation but kReset and kInspect) on its keys, one for each use, and sets
/// its results. Precondition: settlements have their results (Settle), unless they have expired.
void Decide(StoreCall& call, std::span<EvaluatedKey* const> subjects);

/// Returns the verdict of a peek at the key.
Verdict Peek(const LimitNumbers& limit, WallTime now, const algo::State& state);

}  // namespace sluice::store
