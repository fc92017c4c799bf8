#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "algo/state.h"
#include "store/store.h"

/// Applies a call to states in memory, all or nothing. Pure but
/// for the ids of new slots.
namespace sluice::store {

/// The state of one key while a call is evaluated. Uses of one key share it.
struct EvaluatedKey {
  algo::State state;         ///< Advanced to the call's `now`.
  std::int64_t pending = 0;  ///< Amount that earlier uses of the call will consume.
  bool changed = false;      ///< To be written back.
};

/// Whether a call passes, by what its limits said: none that is enforced may deny it, nor may all
/// of its quotas.
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

/// Whether this is a check of one limit that can't be refused: what nearly all calls are.
inline bool IsPlainCheck(const StoreCall& call) {
  if (call.operation != Operation::kCheck || call.uses.size() != 1) return false;
  const KeyUse& use = call.uses[0];
  return use.cost >= 0 && use.cost <= kMaxAmount && Fits(use.key);
}

/// The error of an invalid call, if it is one. Reads the call's input only, and clamps times and
/// amounts that are out of range.
std::optional<ErrorCode> Refusal(StoreCall& call);

/// Whether an error is the call's own: the call makes no sense, whatever the store holds. All
/// others are failures of the store.
inline bool IsCallError(ErrorCode error) {
  return error == ErrorCode::kInvalidCost || error == ErrorCode::kInvalidKey ||
         error == ErrorCode::kInvalidLimit || error == ErrorCode::kNotSupported;
}

/// Runs the call (any operation but kReset and kInspect) on its subjects, one for each use, and
/// fills in its answers. Settlements that the store found settled before are marked `repeated`.
void Decide(StoreCall& call, std::span<EvaluatedKey* const> subjects);

/// Returns the verdict of a peek at the key.
Verdict Peek(const LimitNumbers& limit, WallTime now, const algo::State& state);

}  // namespace sluice::store
